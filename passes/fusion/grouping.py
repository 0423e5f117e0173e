"""Assignment of nodes to kernels, and of kernels to an execution order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush

from perfc.ir import DType, Graph, Kind, Node, TensorType, Value, captured, entity, mutable

from ..roofline.charges import Charging
from ..roofline.cost import CostTable, NodeCost
from ..runtimes import RANK, Runtime
from .group import Group
from .kernel import HOST, Alternative, Kernel
from .neighbourhood import Neighbourhood
from .patterns import ADD_RELU, SLICE_UPDATE, FusionUnit, find_patterns
from .product_patterns import is_dequantize


@entity
class Segment:
    """State of a segment (consecutive nodes without regions) while it is grouped."""

    near: Neighbourhood
    units: dict[Node, FusionUnit]  # match of a pattern that a node is in
    groups: list[Group] = field(default_factory=list)  # in the order of the file
    maker: dict[Value, Group] = field(default_factory=dict)  # group that computes a value
    home: dict[Node, Group] = field(default_factory=dict)  # group of a node
    views: list[tuple[Node, list[Group]]] = field(default_factory=list)  # with groups they need
    needs: dict[Value, tuple[Group, ...]] = field(default_factory=dict)  # makers of view shapes

    def operands(self, node: Node) -> list[Group]:
        """Return groups that must run before ``node``, also those of the shapes of its views."""
        groups: dict[Group, None] = {}
        shows, maker, needs = self.near.shows, self.maker, self.needs
        for v in node.inputs:
            if v is None:
                continue
            group = maker.get(shows.get(v, v))
            if group is not None:
                groups[group] = None
            if v in needs:
                groups.update(dict.fromkeys([other.final() for other in needs[v]]))
        return list(groups)

    def merge(self, group: Group, other: Group) -> None:
        """Move the nodes of ``other`` to ``group``."""
        group.nodes += other.nodes
        group.reads |= other.reads
        group.level = max(group.level, other.level)
        group.folded |= other.folded
        group.assigned |= other.assigned
        if RANK.get(other.kind, 3) > RANK.get(group.kind, 3):
            group.kind, group.anchor = other.kind, other.anchor
        for node in other.nodes:
            self.home[node] = group
            self.maker.update(dict.fromkeys(node.results, group))
        other.nodes, other.into = [], group


@mutable
class Grouping:
    """Groups the nodes of one module by the table of a runtime."""

    table: Runtime
    cost: CostTable
    kernels: list[Kernel] = field(default_factory=list)  # in execution order
    host: list[Node] = field(default_factory=list)  # nodes that launch nothing
    alternatives: list[Alternative] = field(default_factory=list)  # sides that `kernels` lacks
    shows: dict[Value, Value] = field(default_factory=dict)  # the values that views show
    views: set[Node] = field(default_factory=set)
    class_ids: dict[object, int] = field(default_factory=dict)  # numbers of duplicate kernels
    costs: Mapping[Node, NodeCost] = field(default_factory=dict)  # of all sides of branches
    by_call: bool = False  # whether a pattern is of one call of a PyTorch program

    def __post_init__(self) -> None:
        if not self.costs:
            others, nodes = self.cost.others, self.cost.nodes
            self.costs = {**others, **nodes} if others else nodes

    def graph(self, graph: Graph) -> None:
        """Append the kernels of ``graph``, with those of regions in their place."""
        for node in graph.nodes:
            self.look_through(node)
        runs: list[tuple[list[Node], Node | None]] = [([], None)]  # segments, and what ends each
        for node in graph.nodes:
            if node.regions:  # no kernel spans such a node
                runs[-1] = (runs[-1][0], node)
                runs.append(([], None))
            elif node in self.costs:
                runs[-1][0].append(node)
        crossing = self.crossing_values(graph, runs)
        for nodes, control in runs:
            self.segment(graph, nodes, crossing)
            if control is not None:
                self.regions(control)

    def regions(self, control: Node) -> None:
        """Append the kernels of a node's regions; sides of an undecided branch are alternatives."""
        chosen = self.cost.undecided.get(control)
        if chosen is None or len(control.regions) == 1:
            for region in control.regions:
                self.graph(region)
            return
        first = len(self.kernels)
        self.graph(control.regions[chosen])
        for i, region in enumerate(control.regions):
            if i != chosen:
                other = Grouping(
                    self.table,
                    self.cost,
                    shows=self.shows,
                    views=self.views,
                    class_ids=self.class_ids,
                    costs=self.costs,
                    by_call=self.by_call,
                )
                other.graph(region)
                nested = tuple(other.alternatives)
                alternative = Alternative(first, len(self.kernels), tuple(other.kernels), nested)
                self.alternatives.append(alternative)

    def crossing_values(
        self, graph: Graph, runs: Sequence[tuple[list[Node], Node | None]]
    ) -> set[Value]:
        """Return values that must be in memory between segments, or when the graph ends."""
        crossing = {self.shows.get(v, v) for v in graph.outputs}
        if len(runs) == 1:
            return crossing
        made_in: dict[Value, int] = {}
        for i, (nodes, control) in enumerate(runs):
            for node in nodes:
                made_in.update(dict.fromkeys(node.results, i))
                for v in node.inputs:
                    root = v and self.shows.get(v, v)
                    if root is not None and made_in.get(root, i) != i:
                        crossing.add(root)
            if control is not None:
                read = (*control.inputs, *captured(control))
                crossing.update(self.shows.get(v, v) for v in read if v is not None)
        return crossing

    def segment(self, graph: Graph, nodes: Sequence[Node], crossing: set[Value]) -> None:
        """Group a segment of nodes without regions."""
        if not nodes:
            return
        near = Neighbourhood(graph, self.table, frozenset(nodes), self.shows)
        segment = Segment(near, find_patterns(nodes, near, self.table.patterns, self.by_call))
        self.share_dequantized(nodes, segment)
        for node in nodes:
            self.place(node, segment)
        order = {n: i for i, n in enumerate(nodes)}
        schedule = scheduled([g for g in segment.groups if g.nodes])
        self.attach(segment, schedule, graph)
        makers = {v: n for n in nodes for v in n.results}
        written = {v for v in makers if v in crossing} | self.outside(nodes, segment)
        charging = Charging(
            self.costs, self.table, self.shows, self.views, makers, written, self.class_ids
        )
        for group in schedule:
            group.nodes.sort(key=order.__getitem__)
            if group.is_host:
                self.host.extend(group.nodes)
            else:
                self.kernels.append(charging.kernel(group))

    def outside(self, nodes: Iterable[Node], segment: Segment) -> set[Value]:
        """Return values that other groups read; inputs of shape operators do not count."""
        roots: set[Value] = set()
        for node in nodes:
            if node.op.kind is Kind.SHAPE or (node.results and node.results[0] in self.shows):
                continue
            for v in node.inputs:
                root = v and self.shows.get(v, v)
                if root is None:
                    continue
                group = segment.maker.get(root)
                if group is not None and group is not segment.home[node]:
                    roots.add(root)
        return roots

    def look_through(self, node: Node) -> None:
        """Record the values that the results of a view show."""
        if not self.table.is_view(node):
            return
        self.views.add(node)
        if node.inputs and node.inputs[0] is not None:
            root = self.shows.get(node.inputs[0], node.inputs[0])
            for v in node.results:
                self.shows[v] = root

    def share_dequantized(self, nodes: Iterable[Node], segment: Segment) -> None:
        """Let each quantised kernel read a shared dequantisation as a view of its integers.

        If products absorb dequantisations, every other reader does too.

        Source: onnxruntime EnsureUniqueDQForNodeUnit; TensorRT developer guide, 'Q/DQ fusion'.
        """
        near, units = segment.near, segment.units
        by_all = self.table.absorbs(Kind.MATMUL, Kind.QUANTIZE, "dequantize_linear")
        shared: dict[Value, Value] = {}
        for node in nodes:
            if not is_dequantize(node) or node in units or node.inputs[0] is None:
                continue
            readers = near.readers(node.results[0]) or ()
            in_units = (r in units and units[r].tag == "quantized" for r in readers)
            if readers and (by_all or all(in_units)):
                shared[node.results[0]] = self.shows.get(node.inputs[0], node.inputs[0])
        if shared:
            for v, root in list(self.shows.items()):
                self.shows[v] = shared.get(root, root)
            self.shows.update(shared)

    def place(self, node: Node, segment: Segment) -> None:
        """Add a node to a group."""
        operands = segment.operands(node)
        results = node.results
        if results and results[0] in self.shows:
            segment.views.append((node, operands))  # joins a kernel last, in ``attach``
            data = segment.maker.get(self.shows[results[0]])
            others = tuple([g for g in operands if g is not data])
            if others:
                segment.needs.update(dict.fromkeys(results, others))
            return
        group = self.home(node, operands, segment)
        if group is None:
            group = self.started(node, operands, segment)
        elif node not in segment.units:
            operands = self.merged(group, node, operands, segment)
        for g in operands:
            if g is not group:
                g.is_read = True
                group.reads.add(g)
        group.nodes.append(node)
        unit = segment.units.get(node)
        if unit is not None:
            if node in unit.folded:
                group.folded |= {node}
            if unit.tag == SLICE_UPDATE and node.op.kind is Kind.GATHER:
                group.assigned |= {node}
        segment.home[node] = group
        # a kernel is named after its heaviest operator
        if node is not group.anchor and Runtime.rank(node) > Runtime.rank(group.anchor):
            group.anchor = node
            if not group.pattern:
                group.kind = node.op.kind
        for v in results:
            segment.maker[v] = group

    def started(self, node: Node, operands: list[Group], segment: Segment) -> Group:
        """Return a new group that begins with ``node``."""
        unit = segment.units.get(node)
        level = 1 + max([g.level for g in operands], default=0)
        kind, tag = (unit.kind, unit.tag) if unit else (node.op.kind, "")
        group = Group(len(segment.groups), kind, node, level, tag)
        segment.groups.append(group)
        return group

    def home(self, node: Node, operands: list[Group], segment: Segment) -> Group | None:
        """Return the group that absorbs ``node``, None if it starts a new one."""
        if node.op.kind in HOST:
            return None
        unit = segment.units.get(node)
        if unit is not None:
            started_group = next((segment.home[m] for m in unit.members if m in segment.home), None)
            if started_group is not None:
                if is_safe(started_group, operands):
                    return started_group
                # the pattern cannot be one kernel here: its remaining nodes are grouped one by one
                self.split(unit, segment)
                return None
        if not self.table.epilogue:
            return None
        kind = unit.kind if unit else node.op.kind
        tag = unit.tag if unit else node.op.mnemonic
        members = unit.members if unit else (node,)
        for g in sorted(operands, key=lambda g: (-g.level, g.index)):  # low levels may close cycles
            if (
                not g.is_host
                and len(g.nodes) + len(members) <= self.table.max_nodes
                and self.table.absorbs(g.kind, kind, tag, _dtype(g.anchor))
                and (self.table.keeps_shared or self.is_consumed(node, g, members, segment))
                and is_safe(g, operands)
            ):
                return g
        if unit is not None and tag == ADD_RELU:
            self.split(unit, segment)
        return None

    def merged(
        self, group: Group, node: Node, operands: list[Group], segment: Segment
    ) -> list[Group]:
        """Merge the kernels of the node's other operands into ``group``; return the rest.

        Two kernels without readers cannot reach each other, so that they can be merged. Only loops
        without a main loop merge; a kind without a rank (9) may have one.
        """
        kind, tag = node.op.kind, node.op.mnemonic
        remaining = [group]
        for g in operands:
            if (
                g is not group
                and not (g.is_read or group.is_read or g.is_host)
                and max(RANK.get(g.kind, 9), RANK.get(group.kind, 9)) < RANK[Kind.MATMUL]
                and len(g.nodes) + len(group.nodes) < self.table.max_nodes
                and self.table.absorbs(g.kind, kind, tag, _dtype(g.anchor))
                and self.table.absorbs(group.kind, kind, tag, _dtype(group.anchor))
                and (self.table.keeps_shared or self.is_consumed(node, g, (node,), segment))
            ):
                segment.merge(group, g)
            else:
                remaining.append(g)
        return remaining

    @staticmethod
    def split(unit: FusionUnit, segment: Segment) -> None:
        """Discard a match of a pattern, so that its nodes are grouped one by one."""
        for m in unit.members:
            segment.units.pop(m, None)
            if m in segment.home:
                segment.home[m].folded -= {m}
                segment.home[m].assigned -= {m}
                segment.home[m].pattern = ""

    @staticmethod
    def is_consumed(node: Node, group: Group, members: Iterable[Node], segment: Segment) -> bool:
        """Return True if only ``members`` read the values that ``node`` reads of ``group``."""
        inside = set(members)
        near = segment.near
        for v in node.inputs:
            root = None if v is None else near.root(v)
            if root is None or segment.maker.get(root) is not group:
                continue
            readers = near.readers(root)
            if readers is None or any(r not in inside for r in readers):
                return False
        return True

    def attach(self, segment: Segment, schedule: Sequence[Group], graph: Graph) -> None:
        """Add each view to the last of the groups it needs, else to its first reader."""
        position = {g: i for i, g in enumerate(schedule)}
        # in reverse, so that a view that only views read finds them placed
        for node, operands in reversed(segment.views):
            needed = (g.final() for g in operands)
            group = max(needed, key=position.__getitem__, default=None)
            if group is None:
                readers = [n for v in node.results for n in graph.users.get(v, ())]
                homes = [segment.home[n] for n in readers if n in segment.home]
                if len(homes) == len(readers):
                    group = min(homes, key=position.__getitem__, default=None)
            if group is None:
                self.host.append(node)
            else:
                group.nodes.append(node)
                segment.home[node] = group


def _dtype(node: Node) -> DType | None:
    """Return the element type of a node's first result, None if unknown."""
    type_ = node.results[0].type if node.results else None
    return type_.dtype if isinstance(type_, TensorType) else None


def is_safe(group: Group, operands: Iterable[Group]) -> bool:
    """Return True if a reader of ``operands`` can join ``group`` without closing a cycle.

    A cycle needs another operand that ``group`` reaches, hence one of a higher level. Even then
    joining is safe if ``group`` has no reader yet; its level is then raised.
    """
    highest = max([g.level for g in operands if g is not group], default=0)
    if highest < group.level:
        return True
    if group.is_read:
        return False
    group.level = highest + 1
    return True


def scheduled(groups: Sequence[Group]) -> list[Group]:
    """Return groups in topological order, as close to the order of the file as possible.

    Source: Kahn 1962.
    """
    waiting = {g: len(g.reads) for g in groups}
    readers: Mapping[Group, list[Group]] = {g: [] for g in groups}
    for g in groups:
        for other in g.reads:
            readers[other].append(g)
    by_index = {g.index: g for g in groups}
    ready = [g.index for g in groups if not waiting[g]]
    heapify(ready)
    ordered: list[Group] = []
    while ready:
        group = by_index[heappop(ready)]
        ordered.append(group)
        for reader in readers[group]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, reader.index)
    assert len(ordered) == len(groups), "kernels depend on each other in a cycle"
    return ordered
