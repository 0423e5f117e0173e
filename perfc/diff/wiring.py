"""A graph as numbered nodes with the numbers of those before and behind them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from perfc.ir.graph import Graph, Node, captured

OUTSIDE = -1
"""Stands for a graph input, a stored tensor, or a value of the graph around."""


@dataclass(frozen=True)
class Wiring:
    """Nodes in execution order and which of them feed which.

    Args:
        nodes: in topological order.
        before: for each node the makers of its operands, by operand; ``OUTSIDE`` for other values.
        is_ordered: whether the position of an operand tells something.
    """

    nodes: Sequence[Node]
    before: Sequence[tuple[int, ...]]
    is_ordered: bool = True

    @cached_property
    def after(self) -> list[list[tuple[int, int]]]:
        """For each node its readers, each with the operand it is read as."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for i, makers in enumerate(self.before):
            for slot, p in enumerate(makers):
                if p != OUTSIDE:
                    told = self.is_ordered and not self.nodes[i].op.is_commutative
                    found[p].append((i, slot if told else 0))
        return found

    @cached_property
    def index(self) -> Mapping[Node, int]:
        """The number of each node."""
        return {node: i for i, node in enumerate(self.nodes)}


def wiring(graph: Graph) -> Wiring:
    """The nodes of ``graph``; what a region captures counts as operands of the node around it."""
    maker: dict[object, int] = {}
    before: list[tuple[int, ...]] = []
    for i, node in enumerate(graph.nodes):
        reads = [v for v in node.inputs if v is not None]
        if node.regions:
            reads += sorted(captured(node), key=lambda v: maker.get(v, OUTSIDE))
        before.append(tuple([maker.get(v, OUTSIDE) for v in reads]))
        for v in node.results:
            maker[v] = i
    return Wiring(graph.nodes, before)


def skeleton(full: Wiring, is_kept: Callable[[Node], bool]) -> tuple[Wiring, list[int]]:
    """The nodes to keep, joined where a path leads through others; and their numbers in ``full``.

    Different exporters write the same network with the same products and convolutions, and with
    different nodes between them.
    """
    kept = [i for i, node in enumerate(full.nodes) if is_kept(node)]
    place = {i: k for k, i in enumerate(kept)}
    reach: list[Collection[int]] = []
    before: list[tuple[int, ...]] = []
    for i, makers in enumerate(full.before):
        found: set[int] = set()
        for p in makers:
            if p != OUTSIDE:
                found.update(reach[p])
        if i in place:
            before.append(tuple(sorted(found)))
            reach.append((place[i],))
        else:
            reach.append(frozenset(found))
    return Wiring([full.nodes[i] for i in kept], before, is_ordered=False), kept
