"""Strides of values in a framework with strided tensors: permuted reads, and reshapes that copy."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from perfc.ir import Kind, Module, Node, Value, frozen, record

from .. import Analysis
from ..fusion.fuse import Fuse, KernelTable
from ..fusion.kernel import Kernel
from ..manager import Analyses
from ..runtimes import Runtime
from .placement import FEATURE_MAP, Extents, channels_last, contiguous

PROBE = 32
"""Extent that stands for every symbol; an axis of extent 1 would hide a permutation."""


@record
class StrideTable:
    """Strides of values in memory.

    Args:
        shapes: extents with every symbol at ``PROBE``.
        strides: strides, in elements, of the values that are not contiguous.
        copies: views that strides cannot express, and the result that each writes as a copy.
    """

    shapes: Mapping[Value, Extents]
    strides: Mapping[Value, Extents]
    copies: Mapping[Node, Value]

    def of(self, value: Value) -> Extents:
        """Return the strides of a value."""
        strides = self.strides.get(value)
        return contiguous(self.shapes.get(value, ())) if strides is None else strides

    def permuted_share(self, kernel: Kernel) -> float:
        """Return the share of a kernel's operand elements in tensors with a strided last axis.

        Weights and vectors do not count.
        """
        # most kernels read dense tensors alone
        if not [v for node in kernel.nodes for v in node.inputs if v in self.strides]:
            return 0.0
        permuted = total = 0
        for node in kernel.nodes:
            if node.op.kind is Kind.VIEW:
                continue
            for v in node.inputs:
                if v is None or v.weight is not None or len(self.shapes.get(v, ())) < 2:
                    continue
                shape, strides = self.shapes[v], self.of(v)
                count = math.prod(shape)
                total += count
                # an axis of one element has no order
                steps = [step for step, extent in zip(strides, shape, strict=True) if extent > 1]
                if steps and steps[-1] != min(steps):
                    permuted += count
        return permuted / total if total else 0.0


@frozen
class Strides(Analysis[StrideTable]):
    """Strides node by node, as PyTorch propagates them.

    Transposes permute strides, slices keep them, expansions set them to 0; a reshape is a view
    where every new axis lies within axes that are dense among themselves, else it copies.
    Elementwise operators and batch normalisation keep the order of their first operand of the
    same shape, and attention keeps the order of its queries. Attention that an exporter split
    leaves heads inside of positions. Concatenations, windows and their gradients keep channels
    last. All other operators write contiguous results. Left out: channels-last results of
    convolutions, which only the chosen layout decides.

    Source: PyTorch, aten/src/ATen/TensorUtils.cpp, ``computeStride``; TensorIterator's rule for
    the layout of results; TensorShape.cpp, ``compute_output_memory_format`` of ``cat``.
    """

    requires: ClassVar = (Fuse,)
    runtime: str = "eager"

    def run(self, module: Module, am: Analyses) -> StrideTable:
        """Return the strides of the values of the main graph."""
        return strides_of(module, am.get(Fuse(self.runtime), module))


def strides_of(module: Module, kernels: KernelTable, *, last: bool = False) -> StrideTable:
    """Return the strides of the values of the main graph, whose kernels are known.

    Args:
        module: module of the kernels.
        kernels: kernels of the module.
        last: whether the feature maps among the inputs have their channels last.
    """
    from .stride_walk import StrideWalk

    walk = StrideWalk({s.name: PROBE for s in module.symbols}, kernels.runtime)
    fused = {n for k in kernels.kernels if k.kind is Kind.ATTENTION for n in k.nodes}
    # one kernel computes a normalization written out: its inner values are never in memory
    dense = {
        n
        for k in kernels.kernels
        if k.pattern.endswith("_norm")
        for n in k.nodes
        if not kernels.runtime.is_view(n)
    }
    for v in module.graph.inputs if last else ():
        shape = walk.shape(v)
        if shape is not None and len(shape) == FEATURE_MAP:
            walk.strides[v] = channels_last(shape)
    for node in module.graph.nodes:
        if node not in dense:
            walk.visit(node, node in fused)
    users = module.graph.users
    # exporters spell out views inside of fused attention
    copies = {n: v for n, v in walk.copies.items() if not is_read_in(fused, v, users, walk.table)}
    return StrideTable(walk.shapes, walk.strides, copies)


def is_read_in(
    nodes: Collection[Node], v: Value, users: Mapping[Value, Sequence[Node]], table: Runtime
) -> bool:
    """Return True if all readers of a value, views looked through, are among ``nodes``."""
    readers = users.get(v, ())
    return bool(readers) and all(
        n in nodes or (table.is_view(n) and is_read_in(nodes, n.results[0], users, table))
        for n in readers
    )


def is_channels_last(table: StrideTable, v: Value) -> bool:
    """Return True for a dense feature map whose channels are the densest axis."""
    strides, shape = table.strides.get(v), table.shapes.get(v, ())
    return strides is not None and len(shape) >= FEATURE_MAP and strides == channels_last(shape)
