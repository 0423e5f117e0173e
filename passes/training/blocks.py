"""Blocks of a forward pass: the nodes between two places that a single tensor crosses."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from perfc.ir import Node, Value, entity
from perfc.ir.graph import CHECKPOINTED

NUMBERED = re.compile(r"(^|[._]|^block \d+ of )\d+$")
"""The last part of a repeated module's name in a path: ``layer.3``, ``blocks.0``, ``layer1.2``.

``block 2 of 12`` is a name that perfc itself gives to repeated blocks.
"""
OF_PARAMETER = re.compile(r"(.*?[._]\d+)\.")
"""A repeated module's name in a parameter's name: ``encoder.layer.3.output.dense.weight``."""


@entity
class Block:
    """Consecutive forward nodes.

    Args:
        name: name of the repeated module; "" for nodes before, after or between.
        nodes: nodes in execution order.
        boundary: the tensor that leaves the block; None for the last block.
    """

    name: str
    nodes: tuple[Node, ...]
    boundary: Value | None


def module_of(node: Node) -> str | None:
    """Return the repeated module that a node is in, "" for none, None without names.

    The module is in the first of these names: the call of checkpointing around the node, a
    parameter that the node reads, the node itself if its name is a path.
    """
    if node.loc.checkpoint:
        return node.loc.checkpoint
    for v in node.inputs:
        if v is not None and v.weight is not None and (match := OF_PARAMETER.match(v.name)):
            return match[1]
    if "/" not in node.name:
        return None
    parts = node.name.strip("/").split("/")
    # the outermost numbered module is the block
    for i, part in enumerate(parts):
        if NUMBERED.search(part):
            return ".".join(parts[: i + 1])
    return ""


def crossings(nodes: Sequence[Node], trained: Collection[Value]) -> dict[int, Value]:
    """Return positions after which only one tensor of ``trained`` is read, and the tensor."""
    last: dict[Value, int] = {}
    computed = set[Value]()
    for i, node in enumerate(nodes):
        for v in node.inputs:
            if v in computed and v is not None:
                last[v] = i
        computed.update(v for v in node.results if v in trained)
    open_values: set[Value] = set()
    ends: dict[int, list[Value]] = {}
    for v, end in last.items():
        ends.setdefault(end, []).append(v)
    result: dict[int, Value] = {}
    for i, node in enumerate(nodes):
        open_values.difference_update(ends.get(i, ()))
        # a tensor crosses a place if a later node reads it
        open_values.update(v for v in node.results if last.get(v, -1) > i)
        if len(open_values) == 1:
            result[i] = next(iter(open_values))
    return result


def blocks_of(nodes: Sequence[Node], trained: Collection[Value]) -> list[Block]:
    """Return the blocks by the names of repeated modules, cut where a single tensor crosses.

    Args:
        nodes: nodes of the forward pass.
        trained: results that depend on trained parameters; others, such as masks, do not count.
    """
    singles = crossings(nodes, trained)
    blocks: list[Block] = []
    start = 0
    for i in range(len(nodes)):
        if i not in singles and i + 1 < len(nodes):
            continue
        inside, boundary = tuple(nodes[start : i + 1]), singles.get(i)
        name = name_of(inside)
        start = i + 1
        # nodes without names belong to the block before, unless the program checkpoints that block
        joins = name is None and blocks and not blocks[-1].name.startswith(CHECKPOINTED)
        if blocks and (joins or blocks[-1].name == name):
            before = blocks.pop()
            inside, name = (*before.nodes, *inside), before.name
        blocks.append(Block(name or "", inside, boundary))
    return blocks


def name_of(nodes: Sequence[Node]) -> str | None:
    """Return the repeated module that most nodes are in; None if no node has a name."""
    names = [name for n in nodes if (name := module_of(n)) is not None]
    return max(names, key=names.count) if names else None
