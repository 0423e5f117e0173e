"""Groups nodes into the kernels a runtime would launch; a kernel lists its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from perfc.ir.cost import Traffic, Work, dim_sum, total_work
from perfc.ir.dim import Dim
from perfc.ir.graph import Graph, Module, Node, Value
from perfc.ir.op import Kind
from perfc.ir.types import DType, TensorType

from . import Analysis
from .cost import Cost, CostTable, Tier, executions
from .patterns import find_patterns
from .runtimes import Runtime, runtime

if TYPE_CHECKING:
    from .manager import Analyses

HOST = frozenset({Kind.SHAPE, Kind.CONTAINER})
"""Kinds that launch nothing on the device."""


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """Nodes that run as one launch.

    Args:
        nodes: in execution order; views ride along.
        anchor: the node the kernel is named after and classed by.
        work: operations of one launch.
        traffic: bytes of one launch: what stays inside the kernel is not counted.
        reads: values from outside, stored tensors included, views resolved to what they show.
        writes: values that somebody outside reads.
        repeat: launches in one run.
    """

    nodes: tuple[Node, ...]
    anchor: Node
    work: Work
    traffic: Traffic
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    repeat: Dim
    tier: Tier

    @property
    def kind(self) -> Kind:
        """Class of the anchor."""
        return self.anchor.op.kind

    @property
    def label(self) -> str:
        """Operators in order, ``Conv + Relu``, views left out."""
        names: list[str] = []
        for n in self.nodes:
            name = n.loc.op_type or n.op.mnemonic
            if (n.op.kind is not Kind.VIEW or len(self.nodes) == 1) and (
                not names or names[-1] != name
            ):
                names.append(name)
        if len(names) > 4:
            names = [*names[:2], f"… {len(names) - 3} more", names[-1]]
        return " + ".join(names)

    @property
    def mac_dtype(self) -> DType:
        """Element type the multiply–accumulates are done in."""
        if self.work.dtype is not None:
            return self.work.dtype
        for v in self.anchor.inputs:
            if v is not None and isinstance(v.type, TensorType):
                return v.type.dtype
        return DType.F32


@dataclass(frozen=True)
class KernelTable:
    """The kernels of one run, in order, and the nodes that launch nothing."""

    runtime: Runtime
    kernels: tuple[Kernel, ...]
    host: tuple[Node, ...]

    def facts(self) -> dict[Node, dict[str, object]]:
        """Which kernel each node belongs to."""
        return {n: {"kernel": i} for i, k in enumerate(self.kernels) for n in k.nodes}


@dataclass(frozen=True)
class Fuse(Analysis[KernelTable]):
    """Kernel grouping by the table of a runtime (``passes/runtimes``).

    Nodes are visited in order. A node joins a kernel that makes one of its operands if the
    runtime's table allows it and no path through other kernels comes back.
    """

    requires: ClassVar = (Cost,)
    runtime: str = "ort"

    def run(self, module: Module, am: Analyses) -> KernelTable:
        """Kernels of the module."""
        cost = am.get(Cost(), module)
        table = runtime(self.runtime)
        fusing = Fusing(table, cost)
        fusing.graph(module.graph, 1)
        return KernelTable(table, tuple(fusing.kernels), tuple(fusing.host))


@dataclass(eq=False, slots=True)
class Group:
    """A kernel being built. ``level`` is above that of every group it reads."""

    nodes: list[Node]
    anchor: Node
    level: int
    has_users: bool = False
    is_closed: bool = False


@dataclass(slots=True)
class Fusing:
    """State of the walk over one module."""

    table: Runtime
    cost: CostTable
    kernels: list[Kernel] = field(default_factory=list)
    host: list[Node] = field(default_factory=list)

    def graph(self, graph: Graph, repeat: Dim) -> None:
        """Append the kernels of ``graph``, those of its subgraphs where they run."""
        pending: list[Node] = []
        for node in graph.nodes:
            if node.regions:
                self.straight(graph, pending, repeat)
                pending = []
                for region, times in executions(node):
                    self.graph(region, repeat * times)
            else:
                pending.append(node)
        self.straight(graph, pending, repeat)

    def straight(self, graph: Graph, nodes: list[Node], repeat: Dim) -> None:
        """Group a run of nodes without subgraphs."""
        if not nodes:
            return
        shows = _views(nodes)
        chosen = find_patterns(nodes, graph, self.table.patterns)
        group_of: dict[Node, Group] = {}
        made_by: dict[Value, Group] = {}
        groups: list[Group] = []
        views: list[Node] = []
        for node in nodes:
            if node.op.kind in HOST:
                self.host.append(node)
                continue
            if node.op.kind is Kind.VIEW:
                views.append(node)
                continue
            operands = [made_by[r] for v in node.inputs if (r := _root(v, shows)) in made_by]
            group = self.home(node, operands, chosen, group_of)
            if group is None:
                level = 1 + max((g.level for g in operands), default=0)
                group = Group([], node, level)
                groups.append(group)
            for g in operands:
                if g is not group:
                    g.has_users = True
            self.join(group, node)
            group_of[node] = group
            for v in node.results:
                made_by[v] = group
        self.attach(views, group_of, made_by, shows, graph)
        outside = _outside(graph, nodes, group_of, shows)
        order = {n: i for i, n in enumerate(nodes)}
        groups.sort(key=lambda g: (g.level, order[g.nodes[0]]))
        for g in sorted(groups, key=lambda g: order[g.nodes[-1]]):
            self.kernels.append(self.kernel(g, order, shows, outside, repeat))

    def home(
        self,
        node: Node,
        operands: list[Group],
        chosen: Mapping[Node, Node],
        group_of: Mapping[Node, Group],
    ) -> Group | None:
        """The group that takes ``node``, None where it starts one of its own."""
        head = chosen.get(node)
        candidates: Iterable[Group]
        if head is not None:
            target = group_of.get(head)
            if target is not None and self.is_safe(target, operands):
                return target
            return None
        candidates = sorted(set(operands), key=lambda g: (-g.level, id(g)))
        for g in candidates:
            if not g.is_closed and self.table.absorbs(g.anchor, g.nodes, node):
                if self.is_safe(g, operands):
                    return g
        return None

    @staticmethod
    def is_safe(group: Group, operands: list[Group]) -> bool:
        """Whether joining leaves no circle: nothing else the node reads comes after ``group``."""
        highest = max((g.level for g in operands if g is not group), default=0)
        if highest < group.level:
            return True
        if group.has_users:
            return False
        group.level = highest + 1
        return True

    def join(self, group: Group, node: Node) -> None:
        """Add the node; a heavier one becomes the anchor."""
        group.nodes.append(node)
        if self.table.rank(node) > self.table.rank(group.anchor):
            group.anchor = node

    def attach(
        self,
        views: list[Node],
        group_of: dict[Node, Group],
        made_by: Mapping[Value, Group],
        shows: Mapping[Value, Value],
        graph: Graph,
    ) -> None:
        """Let each view ride with the kernel that makes what it shows, or that reads it."""
        for node in views:
            group = made_by.get(_root(node.inputs[0], shows)) if node.inputs else None  # type: ignore[arg-type]
            if group is None:
                readers = (n for v in node.results for n in graph.users.get(v, ()))
                group = next((group_of[n] for n in readers if n in group_of), None)
            if group is None:
                self.host.append(node)
            else:
                group.nodes.append(node)

    def kernel(
        self,
        group: Group,
        order: Mapping[Node, int],
        shows: Mapping[Value, Value],
        outside: set[Value],
        repeat: Dim,
    ) -> Kernel:
        """Costs of a finished group."""
        nodes = tuple(sorted(group.nodes, key=order.__getitem__))
        real = [n for n in nodes if n.op.kind is not Kind.VIEW]
        own = {v for n in real for v in n.results}
        costs = [self.cost.nodes[n] for n in real]
        reads: dict[Value, None] = {}
        saved: list[Dim] = []
        for n in real:
            for v in dict.fromkeys(v for v in n.inputs if v is not None):
                root = _root(v, shows)
                if root in own or root in reads:
                    saved.append(_nbytes(v))
                else:
                    reads[root] = None
        writes = tuple(v for v in own if v in outside)
        kept = [_nbytes(v) for v in own if v not in outside]
        if len(real) == 1:
            traffic = costs[0].traffic
        else:
            read = dim_sum(c.traffic.read_bytes for c in costs) - dim_sum(saved)
            written = dim_sum(c.traffic.write_bytes for c in costs) - dim_sum(kept)
            traffic = Traffic(
                _not_negative(read), _not_negative(written), any(c.traffic.is_bound for c in costs)
            )
        work = costs[0].work if len(real) == 1 else total_work(c.work for c in costs)
        tier = max((c.tier for c in costs), key=list(Tier).index)
        anchor_dtype = self.cost.nodes[group.anchor].work.dtype
        if anchor_dtype is not None and work.dtype is None:
            work = Work(
                work.mac, work.alu, work.sfu, work.integer, anchor_dtype, work.effective_mac
            )
        return Kernel(nodes, group.anchor, work, traffic, tuple(reads), writes, repeat, tier)


def _not_negative(d: Dim) -> Dim:
    return max(d, 0) if isinstance(d, int) else d


def _nbytes(v: Value) -> Dim:
    return (v.type.nbytes or 0) if isinstance(v.type, TensorType) else 0


def _views(nodes: Iterable[Node]) -> dict[Value, Value]:
    shows: dict[Value, Value] = {}
    for n in nodes:
        if n.op.kind is Kind.VIEW and n.inputs and n.inputs[0] is not None and n.results:
            shows[n.results[0]] = shows.get(n.inputs[0], n.inputs[0])
    return shows


def _root(v: Value | None, shows: Mapping[Value, Value]) -> Value | None:
    return v if v is None else shows.get(v, v)


def _outside(
    graph: Graph,
    nodes: list[Node],
    group_of: Mapping[Node, Group],
    shows: Mapping[Value, Value],
) -> set[Value]:
    """Values that must be written: read by another kernel, by a subgraph, or given back."""
    written = {shows.get(v, v) for v in graph.outputs}
    makers = {v: group_of.get(n) for n in nodes for v in n.results}
    for v, readers in graph.users.items():
        root = shows.get(v, v)
        for n in readers:
            if n.op.kind is Kind.VIEW:
                continue
            if group_of.get(n) is None or group_of.get(n) is not makers.get(root):
                written.add(root)
    return written
