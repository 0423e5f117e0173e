"""Find a node by name, output, position or part of its name."""

from __future__ import annotations

from perfc.errors import PerfcError

from .. import Graph, Node, walk

SHOWN = 5
"""Maximum number of candidates in a message."""
MOST_COMPARED = 20_000
"""Maximum number of names and parts of names to compare an unknown name with, as each comparison
takes tens of microseconds."""


class NodeError(PerfcError):
    """No node has that name, or several have it."""


def find_node(graph: Graph, wanted: str) -> tuple[int, Node]:
    """Return the position of the node called ``wanted``, and the node.

    Positions count all nodes of the graph; those of a subgraph follow the node that owns it. Tries
    in this order: a node's name in the program or the file, one of its outputs, its position
    (``12`` or ``#12``), a part of exactly one node's name, with ``layer1.0`` for ``layer1/0``.

    Raises:
        NodeError: no match or several; the message lists candidates.
    """
    nodes = list(walk(graph))
    exact = [(i, n) for i, n in enumerate(nodes) if wanted in (n.name, n.loc.stored_name)]
    if len(exact) == 1:
        return exact[0]
    for i, node in enumerate(nodes):
        if any(wanted == v.name for v in node.results):
            return i, node
    number = wanted.removeprefix("#")
    # nine digits or more are no index of a node: int() of a long text is slow
    if number.isdecimal() and len(number) < 9 and int(number) < len(nodes):
        return int(number), nodes[int(number)]
    folded = _dotted(wanted)
    # several nodes of the exact name are candidates too, listed in the error
    partial = exact or [(i, n) for i, n in enumerate(nodes) if folded in _dotted(n.name)]
    if len(partial) == 1:
        return partial[0]
    if partial:
        raise NodeError(
            f"{len(partial)} nodes match {wanted!r}",
            hint=f"say one of {_listed(partial)}",
        )
    raise NodeError(f"no node {wanted!r}", hint=_close(nodes, wanted))


def _dotted(name: str) -> str:
    """Return a name in the spelling in which parts of names are compared."""
    return name.lower().replace("/", ".")


def _listed(candidates: list[tuple[int, Node]]) -> str:
    """Return the first candidates as text, by position if names are not unique."""
    names = [n.name for _, n in candidates]
    unique = len(set(names)) == len(names)
    shown = [n.name if unique else f"#{i}" for i, n in candidates[:SHOWN]]
    return ", ".join(shown) + (", …" if len(candidates) > SHOWN else "")


def _close(nodes: list[Node], wanted: str) -> str:
    """Return a hint with names that are close to an unknown one."""
    from difflib import get_close_matches

    if not nodes:
        return "the model has no nodes"
    names = list(dict.fromkeys(n.name for n in nodes))[:MOST_COMPARED]
    # a part of a path may be all that a user remembers: each part leads to its first node
    parts: dict[str, str] = {}
    for name in names:
        for part in (name, *name.replace(".", "/").split("/")):
            parts.setdefault(part.lower(), name)
    # at most three; a misspelt name is more than half equal
    nearest = get_close_matches(wanted.lower(), list(parts)[:MOST_COMPARED], 3, 0.5)
    close = list(dict.fromkeys(parts[part] for part in nearest))
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"its {len(nodes)} nodes are #0 to #{len(nodes) - 1}, the first is {names[0]}"
