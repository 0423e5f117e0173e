"""Rewrites as elementary edits, applied to the IR here and to ONNX by ``onnx_edit``.

Both read the same description, so the reported gain is that of the rewrite that ``--fix`` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import TypeAlias

from perfc.errors import PerfcError
from perfc.ir import Module, Node, Value, record
from perfc.ir.graphs.rewrite import Rewriter, with_graph

NO_ATTRIBUTES: Mapping[str, tuple[int, ...]] = MappingProxyType({})
"""Attributes of a node that only reads other values."""


class FixError(PerfcError):
    """A fix that cannot be applied or verified; nothing is written."""


@record
class ReadInstead:
    """Replace ``old`` by ``new``, which has the same elements in the same order."""

    old: Value
    new: Value


@record
class Rewire:
    """Change the inputs and some attributes of a node."""

    node: Node
    inputs: tuple[Value | None, ...]
    attributes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: NO_ATTRIBUTES)


@record
class Remove:
    """Remove a node with unused results."""

    node: Node


@record
class Unname:
    """Remove an unused optional output."""

    node: Node
    index: int


@record
class Unstore:
    """Remove an unused stored tensor."""

    value: Value


@record
class Store:
    """Replace results that depend only on stored tensors by stored tensors."""

    values: tuple[Value, ...]


Edit: TypeAlias = "ReadInstead | Rewire | Remove | Unname | Unstore | Store"
"""Any of the edits above."""


def rewritten(module: Module, edits: Iterable[Edit], stored: Iterable[Value] = ()) -> Module:
    """Apply the edits to ``module`` without inferring types again.

    ``stored`` are further stored tensors, which rewired nodes read.
    """
    rewriter = Rewriter(module.graph)
    for value in stored:
        rewriter.add_weight(value)
    for edit in edits:
        match edit:
            case ReadInstead(old, new):
                rewriter.replace_uses(old, new)
            case Rewire(node, inputs, attributes):
                op = replace(node.op, **dict(attributes)) if attributes else node.op
                replacement = Node(op, inputs, node.outputs, node.regions, node.loc)
                rewriter.replace_node(node, replacement)
            case Remove(node):
                rewriter.erase(node)
            case Unname(node, index):
                outputs = tuple(None if i == index else v for i, v in enumerate(node.outputs))
                replacement = Node(node.op, node.inputs, outputs, node.regions, node.loc)
                rewriter.replace_node(node, replacement)
            case Unstore(value):
                rewriter.drop_weight(value)
            case Store():
                continue  # every runtime stores them while loading, and so does Canonicalize
    return with_graph(module, rewriter.result())
