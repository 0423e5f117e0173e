"""What a kernel costs: the work of its nodes, and the bytes that cross its border."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.ir.cost import Traffic, Work, dim_sum, total_work
from perfc.ir.dim import Dim, Poly, dim_max, dim_min
from perfc.ir.graph import Node, Value
from perfc.ir.op import Kind
from perfc.ir.types import DType, TensorType

from .cost import NodeCost, Tier
from .fuse import Kernel
from .product_patterns import is_dequantize
from .runtimes import Runtime

if TYPE_CHECKING:
    from .grouping import Group

TIERS = {tier: i for i, tier in enumerate(Tier)}
MATRIX = frozenset({Kind.MATMUL, Kind.CONV})


@dataclass(slots=True)
class Charging:
    """Turns groups of one run of nodes into kernels.

    Args:
        cost: counts by node.
        table: the runtime.
        shows: values to those whose bytes they are.
        makers: the nodes that make values of this run.
        written: values that somebody outside their group reads.
    """

    cost: Mapping[Node, NodeCost]
    table: Runtime
    shows: Mapping[Value, Value]
    makers: Mapping[Value, Node]
    written: Collection[Value]

    def kernel(self, group: Group) -> Kernel:
        """Costs of a finished group.

        Of a value from outside the largest part that one node reads counts, of a value that is
        read outside all of it.
        """
        nodes = tuple(group.nodes)
        real = [n for n in nodes if not self.table.is_view(n)]
        counted = [n for n in real if n not in group.folded] if group.folded else real
        costs = [self.cost[n] for n in counted]
        own = {v for n in real for v in n.results}
        if group.assigned:
            costs = [
                _assigned(n, c) if n in group.assigned else c
                for n, c in zip(counted, costs, strict=True)
            ]
        reads = self._reads(counted, costs, own, group.assigned)
        writes = tuple(v for v in own if v in self.written)
        if len(real) == 1 and real[0].results and not self._looks_through(real[0]):
            traffic = costs[0].traffic
        else:
            written = (self._written(n, c, writes) for n, c in zip(counted, costs, strict=True))
            merged = (_nbytes(v) for n in group.folded for v in n.results if v in self.written)
            traffic = Traffic(
                dim_sum(reads.values()),
                dim_sum((*written, *merged)),
                any(c.traffic.is_bound for c in costs),
            )
        work = costs[0].work if len(costs) == 1 else total_work(c.work for c in costs)
        return Kernel(
            nodes,
            group.anchor,
            self._typed(work, group.anchor),
            traffic,
            tuple(reads),
            writes,
            self.cost[group.anchor].repeat,
            max((c.tier for c in costs), key=TIERS.__getitem__),
            tuple(n for n in nodes if n in group.folded),
            group.pattern,
            tuple(reads.values()),
        )

    def _reads(
        self,
        nodes: list[Node],
        costs: list[NodeCost],
        own: Collection[Value],
        assigned: Collection[Node],
    ) -> dict[Value, Dim]:
        """Bytes read of each value that comes from outside."""
        reads: dict[Value, Dim] = {}
        for node, cost in zip(nodes, costs, strict=True):
            for v, nbytes in shares(node, cost.traffic.read_bytes, is_assigned=node in assigned):
                root = self.shows.get(v, v)
                if root in own:
                    continue
                if root is not v:
                    nbytes = _smaller(nbytes, _nbytes(root))
                before = reads.get(root)
                if before is not None and before != nbytes:
                    nbytes = dim_max(before, nbytes)
                reads[root] = nbytes
        return reads

    def _written(self, node: Node, cost: NodeCost, writes: Collection[Value]) -> Dim:
        """Bytes that a node's part of the kernel writes."""
        results = node.results
        outside = [v for v in results if v in writes]
        if len(outside) == len(results):
            return cost.traffic.write_bytes
        return dim_sum(_nbytes(v) for v in outside)

    def _looks_through(self, node: Node) -> bool:
        return any(v is not None and self.shows.get(v, v) is not v for v in node.inputs)

    def _typed(self, work: Work, anchor: Node) -> Work:
        """Work with the element type that its multiply–accumulates are done in."""
        dtype = self.cost[anchor].work.dtype or self._narrow(anchor)
        if dtype is None or dtype is work.dtype:
            return work
        return Work(work.mac, work.alu, work.sfu, work.integer, dtype, work.effective_mac)

    def _narrow(self, anchor: Node) -> DType | None:
        """Type of the integers behind both factors, where the runtime multiplies those."""
        if anchor.op.kind not in MATRIX or "quantized" not in self.table.patterns:
            return None
        types: list[DType] = []
        for v in anchor.inputs[:2]:
            maker = self.makers.get(v) if v is not None else None
            source = maker.inputs[0] if maker is not None and is_dequantize(maker) else None
            if source is None or not isinstance(source.type, TensorType):
                return None
            types.append(source.type.dtype)
        return max(types, key=lambda d: d.bits) if types else None


def _assigned(node: Node, cost: NodeCost) -> NodeCost:
    """An assignment in place: what is assigned is read and written, and no index is."""
    nbytes = _nbytes(node.inputs[2]) if node.inputs[2] is not None else 0
    return replace(cost, traffic=Traffic(nbytes, nbytes, cost.traffic.is_bound))


def shares(
    node: Node, read_bytes: Dim, *, is_assigned: bool = False
) -> Iterator[tuple[Value, Dim]]:
    """How much of its operands' bytes a node reads, operand by operand.

    Where it does not read all of everything, the first operand is the one read in part; a
    movement's other operands are parameters that no kernel loads. Of an assignment in place it
    is what is assigned.
    """
    operands = list(dict.fromkeys(v for v in node.inputs if v is not None))
    if is_assigned:
        operands = operands[-1:]
    if len(operands) == 1:
        yield operands[0], read_bytes
        return
    sizes = [_nbytes(v) for v in operands]
    if dim_sum(sizes) == read_bytes:
        yield from zip(operands, sizes, strict=True)
        return
    if node.op.kind is Kind.MOVEMENT:
        sizes = [0] * len(sizes)
    others = dim_sum(sizes[1:])
    for i, v in enumerate(operands):
        rest = read_bytes - others if i == 0 else sizes[i]
        yield v, rest if isinstance(rest, Poly) else max(rest, 0)


def _smaller(a: Dim, b: Dim) -> Dim:
    return a if a == b else dim_min(a, b)


def _nbytes(v: Value) -> Dim:
    return (v.type.nbytes or 0) if isinstance(v.type, TensorType) else 0
