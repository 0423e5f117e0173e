"""When each value is last read, and how many bytes live at every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.ir.cost import dim_sum
from perfc.ir.dim import Dim
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Graph, Module, Node, Value, captured
from perfc.ir.op import Kind
from perfc.ir.types import TensorType, Type

from . import Analysis

if TYPE_CHECKING:
    from .manager import Analyses

IN_PLACE = frozenset({Kind.ELEMENTWISE, Kind.NORMALIZATION, Kind.SOFTMAX})
"""Kinds whose result may overwrite an operand of the same type that nobody reads afterwards."""


@dataclass(frozen=True)
class LivenessTable:
    """Last uses and live bytes; bytes are formulas in the symbols.

    Args:
        steps: the nodes of the main graph, in execution order.
        last_use: step after which a value is gone; outputs live to the end.
        owner: the value whose storage a value shares (views, in-place results).
        live: storages alive while each step runs, without weights.
        weight_bytes: all stored tensors together.
    """

    steps: tuple[Node, ...]
    last_use: Mapping[Value, int]
    owner: Mapping[Value, Value]
    live: tuple[Dim, ...]
    weight_bytes: Dim
    is_bound: bool

    def timeline(self, env: Mapping[str, int]) -> list[int]:
        """Live activation bytes at every step."""
        return [int(evaluate(d, env)) for d in self.live]

    def peak(self, env: Mapping[str, int]) -> tuple[int, Node | None]:
        """Largest live activation bytes, and the node that runs then."""
        line = self.timeline(env)
        if not line:
            return 0, None
        at = max(range(len(line)), key=line.__getitem__)
        return line[at], self.steps[at]

    @cached_property
    def by_owner(self) -> Mapping[Value, tuple[Value, ...]]:
        """Values that share each storage."""
        shared: dict[Value, list[Value]] = {}
        for v, o in self.owner.items():
            shared.setdefault(o, []).append(v)
        return {o: tuple(vs) for o, vs in shared.items()}

    def facts(self) -> dict[Node, dict[str, object]]:
        """Live bytes beneath each node in the text form."""
        return {n: {"live_bytes": d} for n, d in zip(self.steps, self.live, strict=True)}


@dataclass(frozen=True)
class Liveness(Analysis[LivenessTable]):
    """Live ranges in execution order, storage shared by views and in-place results.

    A node's operands and results live together while it runs. Workspace of kernels, alignment and
    fragmentation are left out: the peak is what an ideal allocator needs.
    """

    in_place: bool = True

    def run(self, module: Module, am: Analyses) -> LivenessTable:
        """Last uses and live bytes of the main graph; a node's regions count inside its step."""
        graph = module.graph
        last = last_uses(graph)
        owner = self.owners(graph, last)
        sizes: dict[Value, Dim] = {}
        ends: dict[Value, int] = {}
        is_bound = False
        for v, o in owner.items():
            ends[o] = max(ends.get(o, -1), last.get(v, -1))
            if o not in sizes:
                nbytes = storage(o.type)
                is_bound |= nbytes is None
                sizes[o] = nbytes or 0
        live = self.live(graph, owner, ends, sizes)
        return LivenessTable(
            graph.nodes,
            last,
            owner,
            tuple(live),
            dim_sum(storage(w.type) or 0 for w in graph.weights),
            is_bound,
        )

    def owners(self, graph: Graph, last: Mapping[Value, int]) -> dict[Value, Value]:
        """The storage each value lies in."""
        owner: dict[Value, Value] = {v: v for v in graph.inputs}
        kept = set(graph.outputs) | set(graph.inputs)
        busy: dict[Value, int] = {v: last.get(v, -1) for v in graph.inputs}
        for step, node in enumerate(graph.nodes):
            for i, v in enumerate(node.results):
                home = v
                source = node.inputs[0] if node.inputs else None
                if node.op.kind is Kind.VIEW and source in owner and i == 0:
                    home = owner[source]
                elif self.in_place and node.op.kind in IN_PLACE and i == 0:
                    home = self._overwritten(node, v, owner, busy, kept, step) or v
                owner[v] = home
                busy[home] = max(busy.get(home, -1), last.get(v, -1))
        return owner

    @staticmethod
    def _overwritten(
        node: Node,
        result: Value,
        owner: Mapping[Value, Value],
        busy: Mapping[Value, int],
        kept: set[Value],
        step: int,
    ) -> Value | None:
        for v in node.inputs:
            if v is None or v not in owner or v in kept:
                continue
            home = owner[v]
            if busy[home] > step or home in kept:
                continue
            if storage(home.type) == storage(result.type):
                return home
        return None

    @staticmethod
    def live(
        graph: Graph,
        owner: Mapping[Value, Value],
        ends: Mapping[Value, int],
        sizes: Mapping[Value, Dim],
    ) -> list[Dim]:
        """Live bytes at every step: what was born up to it and does not end before it."""
        starts: list[list[Value]] = [[] for _ in graph.nodes]
        stops: list[list[Value]] = [[] for _ in range(len(graph.nodes) + 1)]
        current = dim_sum(sizes[owner[v]] for v in graph.inputs)
        for v in graph.inputs:
            stops[min(max(ends[v], -1) + 1, len(graph.nodes))].append(v)
        for step, node in enumerate(graph.nodes):
            for v in node.results:
                if owner[v] is v:
                    starts[step].append(v)
                    stops[min(max(ends[v], step) + 1, len(graph.nodes))].append(v)
        live: list[Dim] = []
        for step in range(len(graph.nodes)):
            current = current - dim_sum(sizes[v] for v in stops[step])
            current = current + dim_sum(sizes[v] for v in starts[step])
            live.append(current)
        return live


def last_uses(graph: Graph) -> dict[Value, int]:
    """The last step that reads each value; outputs are read after the last one."""
    last: dict[Value, int] = {}
    for step, node in enumerate(graph.nodes):
        for v in node.inputs:
            if v is not None:
                last[v] = step
        if node.regions:
            for v in captured(node):
                last[v] = step
    for v in graph.outputs:
        last[v] = len(graph.nodes)
    return last


def storage(type_: Type) -> Dim | None:
    """Bytes of a value, None where nobody knows."""
    return type_.nbytes if isinstance(type_, TensorType) else None
