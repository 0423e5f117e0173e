"""Costs of kernels: the work of their nodes, and the bytes that cross their border."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir import (
    Dim,
    DType,
    Kind,
    Node,
    Poly,
    TensorType,
    Traffic,
    Type,
    Value,
    Work,
    dim_max,
    dim_min,
    dim_sum,
    total_work,
)
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.slice import Slice
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.problem import Attention, Problem, Product

from ..fusion.kernel import Kernel
from ..fusion.patterns import JOINED
from ..fusion.product_patterns import is_dequantize
from ..inference.placement import Unions
from ..runtimes import Runtime
from .cost import NodeCost, Tier

if TYPE_CHECKING:
    from ..fusion.group import Group

TIERS = {tier: i for i, tier in enumerate(Tier)}
"""Ranks of tiers: a kernel is as uncertain as its least certain node."""
MATRIX = frozenset({Kind.MATMUL, Kind.CONV})
"""Kinds whose factors may be integers behind a dequantization."""


def merged_bias(anchor: Node, folded: Sequence[Node]) -> Value | None:
    """Return the stored tensor that becomes the bias of a convolution; None if none does.

    Merging a normalization or an addition into the filters of a convolution leaves a bias. If the
    convolution had one, the new bias takes its place and is no further operand.
    """
    if len(anchor.inputs) > 2 and anchor.inputs[2] is not None:
        return None
    for node in reversed(folded):
        if isinstance(node.op, BatchNormalization):
            return node.inputs[2]  # the shift
        if isinstance(node.op, Add):
            return next((v for v in node.inputs if v is not None and v.weight is not None), None)
    return None


class ByteSizes(dict[Type, Dim]):
    """Bytes of values by their type, 0 if unknown."""

    def __missing__(self, type_: Type) -> Dim:
        nbytes = type_.nbytes if isinstance(type_, TensorType) else None
        self[type_] = size = nbytes or 0
        return size


class Charging:
    """Turns the fusion groups of one segment of nodes into kernels."""

    def __init__(
        self,
        cost: Mapping[Node, NodeCost],
        table: Runtime,
        shows: Mapping[Value, Value],
        views: Collection[Node],
        makers: Mapping[Value, Node],
        written: Collection[Value],
        class_ids: dict[object, int],
    ) -> None:
        """Store the tables that all kernels share.

        Args:
            cost: counts by node.
            table: the runtime.
            shows: for each view the value whose bytes it shows.
            views: nodes that move nothing.
            makers: the nodes that compute values of this segment.
            written: values that are read outside their group.
            class_ids: numbers of the classes of duplicate kernels so far; grows.
        """
        self.cost, self.table, self.shows, self.views = cost, table, shows, views
        self.makers, self.written, self.class_ids = makers, written, class_ids
        self.sizes, self.unions = ByteSizes(), Unions(makers)
        # equal applications share their costs, so that these are looked up by identity
        self.parts: dict[int, tuple[tuple[int, Dim], ...]] = {}
        self.sums: dict[tuple[int, ...], Work] = {}
        # keys have the identity of a work; the entry also holds that work, so that it stays alive
        # and no other object gets its identity
        self.biased: dict[tuple[int, Dim], tuple[Work, Work]] = {}

    def kernel(self, group: Group) -> Kernel:
        """Return the kernel of a finished group with its costs.

        A value from outside the group is read once: the union of the parts that its nodes read. A
        value that other kernels read is written in full. Nodes in ``group.assigned`` assign to part
        of a value in place, and read and write that part alone.
        """
        folded, views = group.folded, self.views
        nodes = tuple(group.nodes)
        real = [n for n in nodes if n not in views]
        # views and folded nodes run nothing
        counted = [n for n in real if n not in folded] if folded else real
        costs = [self.cost[n] for n in counted]
        results = {v: None for n in real for v in n.outputs if v is not None}
        if group.assigned:
            costs = [self._assigned(n, c, group) for n, c in zip(counted, costs, strict=True)]
        reads, is_shown = self._reads(counted, costs, results, group.assigned)
        bias = merged_bias(group.anchor, [n for n in nodes if n in folded])
        if bias is not None:
            reads[bias] = self.sizes[bias.type]
        writes = tuple([v for v in results if v in self.written])
        # one node alone has its own traffic; in a group, values between nodes have none
        if len(real) == 1 and writes and not is_shown:
            traffic = costs[0].traffic
        else:
            written = [self._written(n, c) for n, c in zip(counted, costs, strict=True)]
            written += [self.sizes[v.type] for n in folded for v in n.results if v in self.written]
            is_bound = any(c.traffic.is_bound for c in costs)
            nonzero = [nbytes for nbytes in written if nbytes]
            traffic = Traffic(added(tuple(reads.values())), added(nonzero), is_bound)
        tiers = [c.tier for c in costs]
        work = self._typed(self._work(costs), group.anchor)
        work = work if bias is None else self._biased(work, group.anchor.results[0].type)
        return Kernel(
            nodes,
            group.anchor,
            work,
            traffic,
            tuple(reads),
            writes,
            repeat=self.cost[group.anchor].repeat,
            tier=tiers[0] if len(tiers) == 1 else max(tiers, key=TIERS.__getitem__),
            identity=self._number(group, nodes, work.dtype, reads, writes),
            folded=tuple([n for n in nodes if n in folded]) if folded else (),
            pattern=group.pattern,
            read_parts=tuple(reads.values()),
            problem=self._problem(group, nodes),
        )

    def _biased(self, work: Work, result: Type) -> Work:
        """Return work with an addition per element of a result; equal work is one object."""
        size = (isinstance(result, TensorType) and result.numel) or 0
        key = id(work), size
        if key not in self.biased:
            self.biased[key] = work, replace(work, alu=dim_sum((work.alu, size)))
        return self.biased[key][1]

    def _number(
        self,
        group: Group,
        nodes: tuple[Node, ...],
        dtype: DType | None,
        reads: Mapping[Value, Dim],
        writes: tuple[Value, ...],
    ) -> int:
        """Return the number of the kernel's class: equal nodes, folded nodes and border."""
        cost = self.cost
        excluded = group.folded | group.assigned
        key = (
            tuple([(id(cost[n]), n.loc.op_type) for n in nodes]),
            nodes.index(group.anchor),
            dtype,
            group.pattern,
            tuple([(nbytes, v.type, v.weight is None) for v, nbytes in reads.items()]),
            tuple([v.type for v in writes]),
            tuple([n in excluded for n in nodes]) if excluded else (),
        )
        return self.class_ids.setdefault(key, len(self.class_ids))

    def _problem(self, group: Group, nodes: Sequence[Node]) -> Problem | None:
        """Return the problem of a kernel.

        It is the problem of the anchor, except for products that run side by side and for the two
        products of an attention that is written out.
        """
        if group.pattern == JOINED:
            return self._joined(group, nodes)
        if group.pattern != "attention" or group.anchor.op.kind is Kind.ATTENTION:
            return self.cost[group.anchor].problem
        products = [n for n in nodes if n.op.kind is Kind.MATMUL]
        match [self.cost[n].problem for n in products]:
            case [Product() as first, Product() as second]:
                scores = products[0].results[0].type
                shape = scores.shape if isinstance(scores, TensorType) else None
                # the columns of q k' are what the second product sums over
                if shape and len(shape) > 1 and (first.m, first.n) == (second.m, second.k):
                    return Attention.of_products(first, second, shape)
        return None

    def _joined(self, group: Group, nodes: Sequence[Node]) -> Problem | None:
        """Return the product with the columns of several products of one left operand."""
        first = self.cost[group.anchor].problem
        columns = [
            problem.n
            for n in nodes
            if n.op.kind is Kind.MATMUL and isinstance(problem := self.cost[n].problem, Product)
        ]
        return first._replace(n=added(columns)) if isinstance(first, Product) else first

    def _work(self, costs: Sequence[NodeCost]) -> Work:
        """Return the operations of several nodes; equal applications are summed once."""
        if len(costs) == 1:
            return costs[0].work
        works = [c.work for c in costs]
        key = tuple(map(id, works))
        total = self.sums.get(key)
        if total is None:
            total = self.sums[key] = total_work(works)
        return total

    def _reads(
        self,
        nodes: list[Node],
        costs: list[NodeCost],
        results: Collection[Value],
        assigned: Collection[Node],
    ) -> tuple[dict[Value, Dim], bool]:
        """Return bytes read of each outside value, and True if any is read through a view."""
        reads: dict[Value, Dim] = {}
        parts: dict[Value, dict[Value, Dim]] = {}
        shows = self.shows
        for node, cost in zip(nodes, costs, strict=True):
            inputs = node.inputs
            # an assignment in place reads the assigned elements, operand 2, alone
            operand_bytes = (
                ((2, cost.traffic.read_bytes),) if node in assigned else self._parts(node, cost)
            )
            for i, nbytes in operand_bytes:
                v = inputs[i]
                root = v and shows.get(v, v)
                if root is None or v is None or root in results:
                    continue
                # a selection reads what its result shows
                is_part = i == 0 and isinstance(node.op, Slice | Gather)
                part = node.results[0] if is_part else v
                # several nodes of the kernel share what one of them loads
                of_root = parts.setdefault(root, {})
                before = of_root.get(part, nbytes)
                of_root[part] = nbytes if before == nbytes else dim_max(before, nbytes)
        is_shown = False
        for root, of_root in parts.items():
            is_shown |= any(v in shows for v in of_root)
            is_simple = len(of_root) == 1 and root in of_root
            reads[root] = of_root[root] if is_simple else self._united(root, of_root)
        return reads, is_shown

    def _united(self, root: Value, parts: Mapping[Value, Dim]) -> Dim:
        """Return the bytes of a value that is read in parts: of their union where it is known.

        The union is known of views that are read whole. The result is the largest of this union and
        of the bytes read of each other view, and never more than the value has.

        Args:
            root: the value.
            parts: views of it, with the bytes that the kernel reads of each.
        """
        total = self.sizes[root.type]
        # views of which every element is read, so that their union is all elements that they show
        whole_views = [v for v, nbytes in parts.items() if nbytes == self.sizes[v.type]]
        if root in whole_views:
            return total
        # a single view without repeated elements is its own union, which need not be computed
        is_one_part = len(parts) == 1 and not self.unions.is_repeated(next(iter(parts)), root)
        share = self.unions.share(root, whole_views) if whole_views and not is_one_part else None
        least = [nbytes for v, nbytes in parts.items() if share is None or v not in whole_views]
        if share is not None:
            least.append(total * share.numerator // share.denominator)
        return _smaller(least[0] if len(least) == 1 else dim_max(*least), total)

    def _parts(self, node: Node, cost: NodeCost) -> tuple[tuple[int, Dim], ...]:
        """Return positions of a node's operands with the bytes it reads of each."""
        parts = self.parts.get(id(cost))
        if parts is None:
            read_bytes = cost.traffic.read_bytes
            parts = self.parts[id(cost)] = tuple(shares(node, read_bytes, self.sizes))
        return parts

    def _written(self, node: Node, cost: NodeCost) -> Dim:
        """Return the bytes that a node's part of the kernel writes."""
        outputs = [v for v in node.outputs if v is not None]
        outside = [v for v in outputs if v in self.written]
        if len(outside) == len(outputs):
            return cost.traffic.write_bytes
        if not outside:
            return 0
        return added([self.sizes[v.type] for v in outside])

    def _assigned(self, node: Node, cost: NodeCost, group: Group) -> NodeCost:
        """Return the cost of a node; of an assignment in place, for the assigned elements alone."""
        source = node.inputs[2] if node in group.assigned else None
        if source is None:
            return cost
        nbytes = self.sizes[source.type]
        return replace(cost, traffic=Traffic(nbytes, nbytes, cost.traffic.is_bound))

    def _typed(self, work: Work, anchor: Node) -> Work:
        """Return work with the element type of its multiply–accumulates."""
        dtype = self.cost[anchor].work.dtype or self._narrow(anchor)
        if dtype is None or dtype is work.dtype:
            return work
        return replace(work, dtype=dtype)

    def _narrow(self, anchor: Node) -> DType | None:
        """Return the integer type that both factors are dequantized from; None if they are not.

        None also if the runtime multiplies no integers.
        """
        if anchor.op.kind not in MATRIX or "quantized" not in self.table.patterns:
            return None
        types: list[DType] = []
        for v in anchor.inputs[:2]:
            maker = self.makers.get(v) if v is not None else None
            source = maker.inputs[0] if maker is not None and is_dequantize(maker) else None
            if source is None or not isinstance(source.type, TensorType):
                return None
            types.append(source.type.dtype)
        # a product of two types runs in the wider one
        return max(types, key=lambda d: d.bits) if types else None


def shares(node: Node, read_bytes: Dim, sizes: ByteSizes) -> Iterator[tuple[int, Dim]]:
    """Yield the bytes that a node reads of each operand, by position.

    If the operands have more bytes than the node reads, the first operand is read in part. All
    other operands of a movement are parameters, such as a shape, which no kernel loads.
    """
    # an operand that is read twice is loaded once
    first: dict[Value, int] = {}
    for i, v in enumerate(node.inputs):
        if v is not None:
            first.setdefault(v, i)
    if len(first) == 1:
        yield next(iter(first.values())), read_bytes
        return
    parts = [sizes[v.type] for v in first]
    if added(parts) == read_bytes:
        yield from zip(first.values(), parts, strict=True)
        return
    declared = node.op.read_parts(node.inputs)
    if declared:
        yield from declared.items()
        return
    if node.op.kind is Kind.MOVEMENT:
        parts = [0] * len(parts)
    others = added(parts[1:])
    for order, (i, part) in enumerate(zip(first.values(), parts, strict=True)):
        nbytes = read_bytes - others if order == 0 else part
        yield i, nbytes if isinstance(nbytes, Poly) else max(nbytes, 0)


def added(parts: Sequence[Dim]) -> Dim:
    """Return the sum of a few extents."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return parts[0] + parts[1]
    return dim_sum(parts)


def _smaller(a: Dim, b: Dim) -> Dim:
    """Return the smaller of two extents, without a formula if they are equal."""
    return a if a == b else dim_min(a, b)
