"""Nodes in an order in which every value is made before it is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence

from perfc.errors import ModelError

from ..reading.proto import Attribute, ProtoGraph, ProtoNode


def topological(
    nodes: Sequence[ProtoNode], defined: Callable[[str], object], known: Collection[str] = ()
) -> Iterator[ProtoNode]:
    """Yield ``nodes`` as they stand where that order works, else sorted.

    Args:
        nodes: nodes of one graph.
        defined: function that returns None for a name that is not defined yet.
        known: names that count as defined, whatever ``defined`` returns.

    Raises:
        ModelError: the nodes need each other in a circle.
    """
    produced = {name for node in nodes for name in node.output if name}
    unmade = set(produced)
    waiting: list[ProtoNode] = []
    for node in nodes:
        # most files are in order; a node that must wait makes all nodes after it be sorted
        if waiting or not _ready(node, unmade, defined, known):
            waiting.append(node)
            continue
        yield node
        unmade.difference_update(node.output)
    if waiting:
        yield from _sorted(waiting, produced, defined, known)


def needs(node: ProtoNode) -> set[str]:
    """Return the names that a node reads, with those that its subgraphs read from around them."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in subgraphs(attribute):
            # names of a subgraph hide those around it
            local = {i.name for i in graph.input} | {t.name for t in graph.initializer}
            local |= {o for n in graph.node for o in n.output}
            inner = {name for n in graph.node for name in needs(n)}
            names |= (inner | {o.name for o in graph.output}) - local
    return names


def label(node: ProtoNode) -> str:
    """Return the name of a node for messages."""
    return node.name or next((o for o in node.output if o), node.op_type)


def subgraphs(attribute: Attribute) -> tuple[ProtoGraph, ...]:
    """Return the graphs that an attribute holds."""
    return (attribute.g, *attribute.graphs) if attribute.g else tuple(attribute.graphs)


def ordered_subgraphs(source: ProtoNode) -> list[ProtoGraph]:
    """Return the graphs of a node in the order in which its operator expects them."""
    graphs = {a.name: a.g for a in source.attribute if a.g is not None}
    # by name, so that the file's order does not matter; of `If`, then_branch comes first
    ordered = [graphs[name] for name in sorted(graphs, key=lambda n: (n != "then_branch", n))]
    for a in source.attribute:
        if a.graphs:
            ordered += a.graphs
    return ordered


def _ready(
    node: ProtoNode, unmade: set[str], defined: Callable[[str], object], known: Collection[str]
) -> bool:
    """Return True if each value that a node reads is made, or defined outside of the graph."""
    names: Collection[str] = node.input
    if [a for a in node.attribute if a.g or a.graphs]:
        names = needs(node)
    if unmade.isdisjoint(names):
        return True
    # a name that a later node makes again may also be defined around the graph
    return not [n for n in names if n in unmade and defined(n) is None and n not in known]


def _sorted(
    waiting: list[ProtoNode],
    local: set[str],
    defined: Callable[[str], object],
    known: Collection[str],
) -> Iterator[ProtoNode]:
    """Yield nodes in topological order, by Kahn's algorithm.

    Args:
        waiting: nodes to sort.
        local: names that nodes of the graph make.
        defined: function that returns None for a name that is not defined yet.
        known: names that count as defined.
    """
    blockers: dict[int, int] = {}
    readers: dict[str, list[ProtoNode]] = {}
    ready: deque[ProtoNode] = deque()
    for node in waiting:
        missing = {n for n in needs(node) if n in local and defined(n) is None and n not in known}
        blockers[id(node)] = len(missing)
        for name in missing:
            readers.setdefault(name, []).append(node)
        if not missing:
            ready.append(node)
    n_yielded = 0
    while ready:
        node = ready.popleft()
        n_yielded += 1
        yield node
        for name in node.output:
            for reader in readers.pop(name, ()):
                blockers[id(reader)] -= 1
                if not blockers[id(reader)]:
                    ready.append(reader)
    if n_yielded < len(waiting):
        stuck = next(n for n in waiting if blockers[id(n)])
        raise ModelError(
            "the graph has a cycle",
            where=f"node {label(stuck)!r}",
            hint="a node reads, through others, what it makes itself",
        )
