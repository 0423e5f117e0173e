"""Operations and compulsory bytes of every node, and how exactly they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property

from perfc.ir.complex_work import real_problem, real_work
from perfc.ir.cost import NO_TRAFFIC, NO_WORK, Traffic, Work, dim_sum, total_traffic, total_work
from perfc.ir.graph import Graph, Module, Node, Value, Weight
from perfc.ir.graphs.duplicates import DuplicateKeys
from perfc.ir.op import ABSENT, UNFORESEEN, Kind, Op, Types
from perfc.ir.ops.control.control import If, Loop, Scan, SequenceMap, keeps_types, never_ends
from perfc.ir.ops.opaque import Opaque
from perfc.ir.problem import Problem
from perfc.ir.record import cached_entity, frozen, record
from perfc.ir.symbolic.dim import Dim, interval, symbols
from perfc.ir.symbolic.evaluate import Numbers
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import free_symbols
from perfc.ir.tensors.types import SequenceType, TensorType

from .. import Analysis
from ..manager import Analyses

FLOP_PER_BYTE = 150
"""Operations that take as long as a byte of device memory: the balance of an A100, half an H100's.

It only decides which side of a branch counts as dearer; no predicted time depends on it.
"""


class Tier(Enum):
    """Certainty of a node's cost, most certain first."""

    EXACT = "exact"
    """A supported operator with every extent known."""
    EXPANDED = "expanded"
    """Part of the function body that ONNX gives the operator."""
    EXPECTED = "expected"
    """Counts are means over data, as paths of trees differ in length."""
    BYTES = "bytes only"
    """Sizes are known but not all of the arithmetic, so counts are lower bounds."""
    UNKNOWN = "unknown"
    """Some operand or result has no known size."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@record
class NodeCost:
    """Counts of one execution of a node, and its number of executions."""

    work: Work
    traffic: Traffic
    tier: Tier
    repeat: Dim = 1
    problem: Problem | None = None


@frozen
class CostTable:
    """Costs by node, including nodes of subgraphs; totals are sums over nodes.

    Args:
        nodes: nodes that run in any case, and the dearer side of each undecided branch.
        weights: the stored tensors that those nodes read.
        others: the sides of undecided branches that are not in ``nodes``.
        undecided: nodes with undecided branches, or with an unknown number of iterations, and the
            position of the region whose nodes are in ``nodes``.
        declared: names of the module's symbols; other symbols depend on data.
    """

    nodes: Mapping[Node, NodeCost]
    weights: Mapping[Value, Weight]
    others: Mapping[Node, NodeCost] = field(default_factory=dict)
    undecided: Mapping[Node, int] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

    @cached_property
    def work(self) -> Work:
        """Return all operations of one run."""
        return total_work(_repeated(c) for c in self.nodes.values())

    @cached_property
    def traffic(self) -> Traffic:
        """Return all bytes of one run if every node is a kernel."""
        return total_traffic(
            c.traffic if c.repeat == 1 else c.traffic.times(c.repeat) for c in self.nodes.values()
        )

    @cached_property
    def weight_bytes(self) -> Dim:
        """Return the bytes of all stored tensors that are read."""
        return dim_sum(v.nbytes or 0 for v in self.weights)

    def count(self, tier: Tier) -> int:
        """Return the number of nodes of a tier."""
        return sum(c.tier is tier for c in self.nodes.values())

    @cached_property
    def is_bound(self) -> bool:
        """Return True if totals are lower bounds, because something depends on data."""
        if any(c.tier in (Tier.BYTES, Tier.UNKNOWN) for c in self.nodes.values()):
            return True
        if any(not isinstance(node.op, If) for node in self.undecided):  # loops of unknown length
            return True
        w, t = self.work, self.traffic
        totals = (w.mac, w.alu, w.sfu, w.integer, t.read_bytes, t.write_bytes)
        return any(a.key not in self.declared for d in totals for a in symbols(d))

    @cached_property
    def uncounted(self) -> Mapping[tuple[str, Tier], Sequence[Node]]:
        """Return nodes without a fully known cost, by ONNX name and tier.

        If an operator without definition has an unknown size, all other nodes of unknown size are
        left out: theirs follows from that operator.
        """
        tiers = {n: c.tier for n, c in self.nodes.items() if c.tier in (Tier.BYTES, Tier.UNKNOWN)}
        unsized = [n for n, tier in tiers.items() if tier is Tier.UNKNOWN]
        has_cause = any(isinstance(n.op, Opaque) for n in unsized)
        names: dict[tuple[str, Tier], list[Node]] = {}
        for node, tier in tiers.items():
            if tier is Tier.BYTES or isinstance(node.op, Opaque) or not has_cause:
                names.setdefault((node.loc.op_type or node.op.mnemonic, tier), []).append(node)
        return names

    def facts(self) -> dict[Node, dict[str, object]]:
        """Return the counts printed below each node in the text form."""
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
    """Return the operations of all executions of a node."""
    return cost.work if cost.repeat == 1 else cost.work.times(cost.repeat)


@frozen
class Cost(Analysis[CostTable]):
    """Operations by unit and compulsory traffic of every node, in closed form."""

    def run(self, module: Module, am: Analyses) -> CostTable:
        """Return the costs of the module's nodes."""
        counting = Counting(module.defaults())
        with numbering(_Mentioned(module)):
            counting.graph(module.graph, 1)
        return CostTable(
            counting.nodes,
            counting.weights,
            counting.others,
            counting.undecided,
            frozenset(s.name for s in module.symbols),
        )


@cached_entity
class _Mentioned:
    """Names of symbols in the types of a module; collected on first use."""

    module: Module

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of all free symbols."""
        return frozenset(atom.key for atom in free_symbols(self.module))

    def __contains__(self, name: object) -> bool:
        """Return True if a symbol of the module has this name."""
        return name in self.names


class Memo:
    """Cache of costs; equal applications share one object."""

    def __init__(self) -> None:
        self.duplicates = DuplicateKeys()
        self.costs: dict[tuple[object, ...], NodeCost] = {}


class Counting:
    """Walks graphs; equal applications are counted once. Branches compare at ``defaults``."""

    def __init__(self, defaults: Mapping[str, int], memo: Memo | None = None) -> None:
        self.defaults = defaults
        self.memo = Memo() if memo is None else memo
        self.nodes: dict[Node, NodeCost] = {}
        self.weights: dict[Value, Weight] = {}
        self.others: dict[Node, NodeCost] = {}
        self.undecided: dict[Node, int] = {}

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
        """Count the regions of a node, each as often as it runs at least."""
        self.nodes[node] = NodeCost(NO_WORK, NO_TRAFFIC, Tier.EXACT, repeat)
        runs = executions(node)
        if runs.is_choice:
            self.dearer(node, repeat)
            return
        if not runs.is_certain:
            # an unknown number of iterations, of the only region
            self.undecided[node] = 0
        for region in runs.regions:
            self.graph(region, repeat * runs.count)

    def dearer(self, node: Node, repeat: Dim) -> None:
        """Count the branch that takes longer at the default extents."""
        sides = [Counting(self.defaults, self.memo) for _ in node.regions]
        for side, region in zip(sides, node.regions, strict=True):
            side.graph(region, repeat)
        dearest = max(range(len(sides)), key=lambda i: sides[i].price())
        self.undecided[node] = dearest
        for i, side in enumerate(sides):
            (self.nodes if i == dearest else self.others).update(side.nodes)
            self.others.update(side.others)
            self.undecided.update(side.undecided)
            if i == dearest:
                self.weights.update(side.weights)

    def price(self) -> float:
        """Return the bytes of traffic that take as long as what is counted so far."""
        at = Numbers(self.defaults)
        pairs = ((_repeated(c), c.traffic.times(c.repeat)) for c in self.nodes.values())
        return sum(max(at(t.nbytes), at(w.flop + w.integer) / FLOP_PER_BYTE) for w, t in pairs)

    def node(self, node: Node, repeat: Dim) -> NodeCost:
        """Return the counts of one node; equal applications share one object."""
        duplicates = self.memo.duplicates
        ins, outs = node.inputs, node.outputs
        key: tuple[object, ...] = (
            duplicates.operator(node.op),
            repeat,
            node.loc.is_expanded,
            len(ins),
            *duplicates.operands(ins),
            *duplicates.operands(outs),
        )
        if len(ins) > 1 and len(set(ins)) < len(ins):
            # an operand that is read twice is loaded once
            key = (*key, *map(ins.index, ins))
        cost = self.memo.costs.get(key)
        if cost is None:
            types: Types = tuple([ABSENT if v is None else v.type for v in outs])
            work, traffic, tier = work_and_traffic(node.op, node, types)
            if tier is Tier.EXACT and node.loc.is_expanded:
                tier = Tier.EXPANDED
            problem = problem_of(node.op, node, types)
            cost = self.memo.costs[key] = NodeCost(work, traffic, tier, repeat, problem)
        return cost


def work_and_traffic(op: Op, node: Node, outs: Types) -> tuple[Work, Traffic, Tier]:
    """Return work, traffic and tier of one application."""
    try:
        work = real_work(op, node.inputs, outs)
        traffic = op.traffic(node.inputs, outs)
    except UNFORESEEN:
        return NO_WORK, Traffic(is_bound=True), Tier.UNKNOWN
    sized = not traffic.is_bound
    # an operator of this kind has no definition of its arithmetic; `Opaque` returns None for it
    is_unsure = op.kind is Kind.OPAQUE and not isinstance(op, Opaque)
    if work is None or work.is_bound or is_unsure:
        return work or NO_WORK, traffic, Tier.BYTES if sized else Tier.UNKNOWN
    counted = Tier.EXACT if work.least_alu is None else Tier.EXPECTED
    return work, traffic, counted if sized else Tier.UNKNOWN


def problem_of(op: Op, node: Node, outs: Types) -> Problem | None:
    """Return the problem of one application, None on any error of its formulas."""
    try:
        return real_problem(op, node.inputs, outs)
    except UNFORESEEN:
        return None


@record
class RegionRuns:
    """Regions of a node that run, and their number of executions.

    ``is_choice`` means that only one of them runs, ``is_certain`` that the count is exact and not
    a lower bound.
    """

    regions: tuple[Graph, ...]
    count: Dim = 1
    is_certain: bool = True
    is_choice: bool = False


def executions(node: Node) -> RegionRuns:
    """Return the regions of a node that run, with their lowest number of executions.

    An If with a known condition runs one branch. A Loop runs its trip count or, if that is unknown,
    the smallest possible one; a Scan the extent it scans; a SequenceMap the sequence's length.
    """
    match node.op:
        case If():
            condition = node.inputs[0].known if node.inputs and node.inputs[0] else None
            decision = condition.item if condition is not None else None
            if decision is not None and len(node.regions) == 2:
                return RegionRuns((node.regions[0 if decision else 1],))
            return RegionRuns(node.regions, is_choice=len(node.regions) > 1)
        case Loop():
            runs = _surely(node.regions, _trip_count(node), _starts(node))
            # iterations of other extents do other work
            return replace(runs, is_certain=runs.is_certain and keeps_types(node.regions[0]))
        case Scan() as scan:
            return _surely(node.regions, _scan_count(scan, node))
        case SequenceMap():
            return _surely(node.regions, _sequence_length(node))
        case _:
            return RegionRuns(node.regions)


def _surely(regions: tuple[Graph, ...], count: Dim | None, least: int = 0) -> RegionRuns:
    """Return the runs of regions by their count, or its lowest value if only data decides it.

    Data decides a count that may be 0 and has no upper limit: a symbol that inference has added.
    """
    if count is None:
        return RegionRuns(regions, least, is_certain=False)
    lo, hi = interval(count)
    if isinstance(count, int) or (lo is not None and lo > 0) or hi is not None:
        return RegionRuns(regions, count)
    return RegionRuns(regions, max(lo or 0, least), is_certain=False)


def _starts(node: Node) -> int:
    """Return 1 if the first iteration runs in any case."""
    limit, condition = (node.inputs[i] if i < len(node.inputs) else None for i in (0, 1))
    begins = condition is None or (condition.known is not None and condition.known.item is True)
    return int(limit is None and begins)


def _trip_count(node: Node) -> Dim | None:
    """Return the trip count by stacked results, limit or last iteration; None if unknown."""
    carried = len(node.inputs) - 2
    for v in node.outputs[max(carried, 0) :]:  # stacked results
        if v is not None and v.shape:
            return v.shape[0]
    limit, condition = (v.known if v is not None else None for v in (*node.inputs, None, None)[:2])
    if condition is not None and condition.item is False:
        return 0
    if limit is None or not limit.items or not _goes_on(node):
        # inference that follows a loop to its end leaves the number of the last iteration
        last = node.regions[0].inputs[0].known if node.regions[0].inputs else None
        number = None if last is None else last.dims[0]
        return None if number is None else number + 1
    item = limit.dims[0]
    return max(item, 0) if isinstance(item, int) else item


def _goes_on(node: Node) -> bool:
    """Return True if no condition ends the loop before its limit."""
    condition = node.inputs[1] if len(node.inputs) > 1 else None
    if condition is not None and (condition.known is None or not condition.known.item):
        return False
    return never_ends(node.regions[0])


def _scan_count(scan: Scan, node: Node) -> Dim | None:
    """Return the extent that a Scan goes along, times the batch; None if unknown."""
    for i, v in enumerate(node.inputs[len(node.inputs) - scan.num_scan_inputs :]):
        if v is None or not isinstance(v.type, TensorType) or not v.type.shape:
            continue
        shape = v.type.shape
        if scan.has_batch:
            return shape[0] * shape[1] if len(shape) > 1 else None
        axis = scan.scan_input_axes[i] if i < len(scan.scan_input_axes) else 0
        if -len(shape) <= axis < len(shape):
            return shape[axis]
    return None


def _sequence_length(node: Node) -> Dim | None:
    """Return the length of the first sequence among the operands whose length is known."""
    lengths = (v.type.length for v in node.inputs if v and isinstance(v.type, SequenceType))
    return next((d for d in lengths if d is not None), None)
