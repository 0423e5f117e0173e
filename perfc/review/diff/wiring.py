"""Graphs as numbered nodes with their producers and readers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from perfc.ir import Graph, Node, captured

OUTSIDE = -1
"""Number for a graph input, a stored tensor, or a value of the enclosing graph."""


@dataclass(frozen=True)
class DiffWiring:
    """Nodes in execution order with their edges.

    Args:
        nodes: nodes in topological order.
        before: producers of the operands of each node; ``OUTSIDE`` for other values.
        is_ordered: True if the position of an operand matters.
    """

    nodes: Sequence[Node]
    before: Sequence[tuple[int, ...]]
    is_ordered: bool = True

    @cached_property
    def after(self) -> list[list[tuple[int, int]]]:
        """Return the readers of each node with the operand index, 0 where order does not matter."""
        readers: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for i, makers in enumerate(self.before):
            for slot, p in enumerate(makers):
                if p != OUTSIDE:
                    is_ordered = self.is_ordered and not self.nodes[i].op.is_commutative
                    readers[p].append((i, slot if is_ordered else 0))
        return readers


def wiring(graph: Graph) -> DiffWiring:
    """Return the wiring of ``graph``; captures of a region count as operands of its node."""
    maker: dict[object, int] = {}
    before: list[tuple[int, ...]] = []
    for i, node in enumerate(graph.nodes):
        reads = [v for v in node.inputs if v is not None]
        if node.regions:
            # by their producers, as equal graphs may list captures in another order
            reads += sorted(captured(node), key=lambda v: maker.get(v, OUTSIDE))
        before.append(tuple([maker.get(v, OUTSIDE) for v in reads]))
        for v in node.results:
            maker[v] = i
    return DiffWiring(graph.nodes, before)


def skeleton(full: DiffWiring, is_selected: Callable[[Node], bool]) -> tuple[DiffWiring, list[int]]:
    """Return the wiring of selected nodes, joined along paths, and their numbers in ``full``.

    Exporters write the same network with equal products and convolutions, and with different nodes
    in between.
    """
    selected = [i for i, node in enumerate(full.nodes) if is_selected(node)]
    place = {i: k for k, i in enumerate(selected)}
    # for each node the selected nodes from which data leaves it or reaches it without passing
    # another selected one
    nearest: list[Collection[int]] = []
    before: list[tuple[int, ...]] = []
    for i, makers in enumerate(full.before):
        producers: set[int] = set()
        for p in makers:
            if p != OUTSIDE:
                producers.update(nearest[p])
        if i in place:
            before.append(tuple(sorted(producers)))
            nearest.append((place[i],))
        else:
            nearest.append(frozenset(producers))
    return DiffWiring([full.nodes[i] for i in selected], before, is_ordered=False), selected
