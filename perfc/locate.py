"""Finds a node of a model by what a person calls it."""

from __future__ import annotations

from perfc.errors import PerfcError
from perfc.ir.graph import Graph, Node, walk

SHOWN = 5
"""Names listed where several could be meant."""


MOST_COMPARED = 20_000
"""Names, and parts of names, that an unknown one is compared with."""


class NodeError(PerfcError):
    """No node of that name, or several."""


def find_node(graph: Graph, wanted: str) -> tuple[int, Node]:
    """The node called ``wanted`` and its position; nodes of subgraphs follow their owner.

    In this order: the name of a node, of one of its outputs, its position (``12`` or ``#12``),
    a part of exactly one node's name.

    Raises:
        NodeError: there is none, or several; the message lists what could have been meant.
    """
    nodes = list(walk(graph))
    exact = [(i, n) for i, n in enumerate(nodes) if wanted == n.name]
    if len(exact) == 1:
        return exact[0]
    for i, node in enumerate(nodes):
        if any(wanted == v.name for v in node.results):
            return i, node
    number = wanted.removeprefix("#")
    if number.isdecimal() and len(number) < 9 and int(number) < len(nodes):
        return int(number), nodes[int(number)]
    folded = wanted.lower()
    partial = exact or [(i, n) for i, n in enumerate(nodes) if folded in n.name.lower()]
    if len(partial) == 1:
        return partial[0]
    if partial:
        raise NodeError(
            f"{len(partial)} nodes match {wanted!r}",
            hint=f"say one of {_listed(partial)}",
        )
    raise NodeError(f"no node {wanted!r}", hint=_close(nodes, wanted))


def _listed(found: list[tuple[int, Node]]) -> str:
    names = [n.name for _, n in found]
    unique = len(set(names)) == len(names)
    shown = [n.name if unique else f"#{i}" for i, n in found[:SHOWN]]
    return ", ".join(shown) + (", …" if len(found) > SHOWN else "")


def _close(nodes: list[Node], wanted: str) -> str:
    from difflib import get_close_matches

    if not nodes:
        return "the model has no nodes"
    names = list(dict.fromkeys(n.name for n in nodes))[:MOST_COMPARED]
    parts: dict[str, str] = {}
    for name in names:
        for part in (name, *name.replace(".", "/").split("/")):
            parts.setdefault(part.lower(), name)
    nearest = get_close_matches(wanted.lower(), list(parts)[:MOST_COMPARED], 3, 0.5)
    close = list(dict.fromkeys(parts[part] for part in nearest))
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"its {len(nodes)} nodes are #0 to #{len(nodes) - 1}, the first is {names[0]}"
