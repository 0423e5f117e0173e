"""Counts operations and compulsory bytes of every node, and says how well each is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.ir.cost import NO_TRAFFIC, NO_WORK, Traffic, Work, dim_sum, total_traffic, total_work
from perfc.ir.dim import Dim, interval
from perfc.ir.graph import Graph, Module, Node, Value, Weight
from perfc.ir.op import ABSENT, Kind, Op, Types
from perfc.ir.types import TensorType

from . import Analysis

if TYPE_CHECKING:
    from .manager import Analyses


class Tier(Enum):
    """How well the cost of a node is known, best first."""

    EXACT = "exact"
    """An operator of ours, every extent known."""
    EXPANDED = "expanded"
    """Part of the function body that ONNX gives the operator."""
    BYTES = "bytes only"
    """Operands and results have sizes; the arithmetic is not known, so counts are bounds."""
    UNKNOWN = "unknown"
    """Some operand or result has no known size."""

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Counts of one execution of a node, and how often it runs."""

    work: Work
    traffic: Traffic
    tier: Tier
    repeat: Dim = 1


@dataclass(frozen=True)
class CostTable:
    """Costs by node, those inside subgraphs included; totals are sums of the parts."""

    nodes: Mapping[Node, NodeCost]
    weights: Mapping[Value, Weight]

    @cached_property
    def work(self) -> Work:
        """All operations of one run."""
        return total_work(_repeated(c) for c in self.nodes.values())

    @cached_property
    def traffic(self) -> Traffic:
        """All bytes of one run when every node is a kernel of its own."""
        return total_traffic(
            c.traffic if c.repeat == 1 else c.traffic.times(c.repeat) for c in self.nodes.values()
        )

    @cached_property
    def parameters(self) -> Dim:
        """Elements of the stored parameters; constants written into nodes are not counted."""
        return dim_sum(
            v.type.numel or 0
            for v, w in self.weights.items()
            if w.is_parameter and isinstance(v.type, TensorType)
        )

    @cached_property
    def weight_bytes(self) -> Dim:
        """Bytes of all stored tensors that some node reads."""
        return dim_sum(v.type.nbytes or 0 for v in self.weights if isinstance(v.type, TensorType))

    def count(self, tier: Tier) -> int:
        """Nodes of a tier."""
        return sum(c.tier is tier for c in self.nodes.values())

    @property
    def is_bound(self) -> bool:
        """Whether totals are lower bounds, because something is not known."""
        return any(c.tier in (Tier.BYTES, Tier.UNKNOWN) for c in self.nodes.values())

    def facts(self) -> dict[Node, dict[str, object]]:
        """Counts beneath each node in the text form."""
        return {
            node: {
                name: value
                for name, value in (
                    ("mac", c.work.mac),
                    ("alu", c.work.alu),
                    ("sfu", c.work.sfu),
                    ("integer", c.work.integer),
                    ("read_bytes", c.traffic.read_bytes),
                    ("write_bytes", c.traffic.write_bytes),
                    ("repeat", 0 if c.repeat == 1 else c.repeat),
                )
                if value != 0
            }
            for node, c in self.nodes.items()
        }


def _repeated(cost: NodeCost) -> Work:
    return cost.work if cost.repeat == 1 else cost.work.times(cost.repeat)


@dataclass(frozen=True)
class Cost(Analysis[CostTable]):
    """Operations by unit and compulsory traffic of every node, in closed form."""

    def run(self, module: Module, am: Analyses) -> CostTable:
        """Costs of the module's nodes."""
        counting = Counting({}, {}, {})
        counting.graph(module.graph, 1)
        return CostTable(counting.nodes, counting.weights)


@dataclass(slots=True)
class Counting:
    """Walks graphs; equal applications are counted once."""

    nodes: dict[Node, NodeCost]
    weights: dict[Value, Weight]
    memo: dict[tuple[object, ...], tuple[Work, Traffic, Tier]]

    def graph(self, graph: Graph, repeat: Dim) -> None:
        """Count a graph that runs ``repeat`` times."""
        for node in graph.nodes:
            for v in node.inputs:
                if v is not None and v.weight is not None:
                    self.weights[v] = v.weight
            if node.regions:
                self.control(node, repeat)
            else:
                self.nodes[node] = self.node(node, repeat)

    def control(self, node: Node, repeat: Dim) -> None:
        """Count the regions of a node as often as they surely run."""
        self.nodes[node] = NodeCost(NO_WORK, NO_TRAFFIC, Tier.EXACT, repeat)
        for region, times in executions(node):
            self.graph(region, repeat * times)

    def node(self, node: Node, repeat: Dim) -> NodeCost:
        """Counts of one node."""
        outs: Types = tuple([ABSENT if v is None else v.type for v in node.outputs])
        op = node.op
        key: tuple[object, ...] = (
            op.__class__,
            op,
            outs,
            *[v and (v.type, v.known) for v in node.inputs],
        )
        if _has_repeated_operand(node):
            key = (*key, tuple([id(v) for v in node.inputs]))
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = measured(op, node, outs)
        work, traffic, tier = found
        if tier is Tier.EXACT and node.loc.is_expanded:
            tier = Tier.EXPANDED
        return NodeCost(work, traffic, tier, repeat)


def _has_repeated_operand(node: Node) -> bool:
    n = len(node.inputs)
    return n > 1 and len(set(node.inputs)) < n


def measured(op: Op, node: Node, outs: Types) -> tuple[Work, Traffic, Tier]:
    """Work, traffic and tier of one application."""
    try:
        work = op.work(node.inputs, outs)
        traffic = op.traffic(node.inputs, outs)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return NO_WORK, Traffic(is_bound=True), Tier.UNKNOWN
    sized = not traffic.is_bound
    if work is None or op.kind is Kind.OPAQUE:
        return work or NO_WORK, traffic, Tier.BYTES if sized else Tier.UNKNOWN
    return work, traffic, Tier.EXACT if sized else Tier.UNKNOWN


def executions(node: Node) -> Iterator[tuple[Graph, Dim]]:
    """The regions that run for sure, and how often.

    The taken branch of an If where the condition is known, else the first: of a bound nothing
    more is claimed. A Loop runs its known trip count, else its smallest.
    """
    match node.op.mnemonic:
        case "if":
            condition = node.inputs[0].known if node.inputs and node.inputs[0] else None
            taken = condition.item if condition is not None else None
            if taken is not None and len(node.regions) == 2:
                yield node.regions[0 if taken else 1], 1
            elif node.regions:
                yield node.regions[0], 1
        case "loop":
            yield node.regions[0], _trip_count(node)
        case "scan":
            yield node.regions[0], _scan_count(node)
        case _:
            for region in node.regions:
                yield region, 1


def _trip_count(node: Node) -> Dim:
    """Trip count, from the limit or the length of a stacked result; at least its lower limit."""
    carried = len(node.inputs) - 2
    for v in node.outputs[max(carried, 0) :]:
        if v is not None and isinstance(v.type, TensorType) and v.type.shape:
            return _surely(v.type.shape[0])
    limit = node.inputs[0].known if node.inputs and node.inputs[0] else None
    condition = node.inputs[1] if len(node.inputs) > 1 else None
    if limit is not None and (condition is None or condition.known is not None):
        item = limit.dims[0] if limit.items else None
        if item is not None:
            return item
    return 0


def _surely(extent: Dim) -> Dim:
    lo, hi = interval(extent)
    return extent if hi is not None or lo is None or lo > 0 else lo


def _scan_count(node: Node) -> Dim:
    outs = [v for v in node.results if isinstance(v.type, TensorType)]
    last = outs[-1].type if outs else None
    n_scan = getattr(node.op, "num_scan_inputs", 0)
    for v in node.inputs[len(node.inputs) - n_scan :]:
        if v is not None and isinstance(v.type, TensorType) and v.type.shape:
            return v.type.shape[0]
    return last.shape[0] if isinstance(last, TensorType) and last.shape else 1
