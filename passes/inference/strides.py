"""Strides of values in a framework with strided tensors: permuted reads, and reshapes that copy."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from perfc.ir import Env, Kind, Module, Node, TensorType, Value, entity, evaluate, frozen, record
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.movement import Expand, Transpose
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.ops.movement.slice import Concat, Slice, Split
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.normalization.normalization_grad import BatchNormalizationGrad
from perfc.ir.ops.resampling.resize import Resize

from .. import Analysis
from ..fusion.fuse import Fuse, KernelTable
from ..fusion.kernel import Kernel
from ..fusion.windows import is_selection, window_steps
from ..manager import Analyses
from ..runtimes import Runtime
from .placement import Extents, contiguous, viewed

FEATURE_MAP = 4
"""Rank of feature maps of images, which frameworks may store with channels last."""
PROBE = 32
"""Extent that stands for every symbol; an extent of 1 would hide permutations."""


@record
class StrideTable:
    """Strides of values in memory.

    Args:
        shapes: extents with every symbol at ``PROBE``.
        strides: in elements, of values that are not contiguous.
        copies: views that strides cannot express, and the value that each copies.
    """

    shapes: Mapping[Value, Extents]
    strides: Mapping[Value, Extents]
    copies: Mapping[Node, Value]

    def of(self, value: Value) -> Extents:
        """Return the strides of a value."""
        strides = self.strides.get(value)
        return contiguous(self.shapes.get(value, ())) if strides is None else strides

    def permuted_share(self, kernel: Kernel) -> float:
        """Return the share of the elements a kernel reads whose last axis is not the densest."""
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
    Elementwise results and batch normalisation keep the order of their first operand of the
    same shape, attention that of queries; attention that an exporter split leaves heads inside
    of positions; concatenations, windows and their gradients keep channels last; everything
    else writes contiguous results. Left out: channels-last results of convolutions, which only
    the chosen layout decides.

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
        kernels: its kernels.
        last: feature maps among its inputs have their channels last.
    """
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


def channels_last(shape: Extents) -> Extents:
    """Return the strides of a dense feature map whose channels are the densest axis.

    >>> channels_last((2, 3, 4, 5))
    (60, 1, 15, 3)
    """
    batch, *pixels, channels = contiguous((shape[0], *shape[2:], shape[1]))
    return batch, channels, *pixels


def is_channels_last(table: StrideTable, v: Value) -> bool:
    """Return True for a dense feature map whose channels are the densest axis."""
    strides, shape = table.strides.get(v), table.shapes.get(v, ())
    return strides is not None and len(shape) >= FEATURE_MAP and strides == channels_last(shape)


@entity
class StrideWalk:
    """State of one walk over the nodes.

    Args:
        env: values of the symbols.
        table: runtime, which decides what is a view.
        shapes: extents as numbers.
        strides: of values that are not contiguous.
        copies: views that strides cannot express, and the value that each copies.
        extents: extents as numbers by type.
    """

    env: Env
    table: Runtime
    shapes: dict[Value, Extents] = field(default_factory=dict)
    strides: dict[Value, Extents] = field(default_factory=dict)
    copies: dict[Node, Value] = field(default_factory=dict)
    extents: dict[TensorType, Extents] = field(default_factory=dict)

    def shape(self, v: Value) -> Extents | None:
        """Return the extents as numbers, None where the rank is not known."""
        shape = self.shapes.get(v)
        if shape is None and isinstance(v.type, TensorType) and v.type.shape is not None:
            shape = self.extents.get(v.type)
            if shape is None:
                extents = [int(evaluate(d, self.env)) for d in v.type.shape]
                shape = self.extents[v.type] = tuple(extents)
            self.shapes[v] = shape
        return shape

    def visit(self, node: Node, is_fused: bool) -> None:
        """Record the strides of a node's results; inside fused attention nothing is stored."""
        for v in (*node.inputs, *node.outputs):
            if v is not None and v not in self.shapes:
                self.shape(v)
        if not node.results or not node.inputs or node.inputs[0] is None:
            return
        if self.table.is_view(node):
            self.view(node, node.inputs[0])
        elif is_fused and not isinstance(node.op, Attention):
            self.attended(node.results[0])
        elif node.op.kind in (Kind.ELEMENTWISE, Kind.ATTENTION) or isinstance(
            node.op, BatchNormalization | BatchNormalizationGrad | Cast
        ):
            self.keeps_order(node)
        elif isinstance(node.op, ConvDataGrad):
            # operand 3 is the feature map of the forward pass
            self.keeps_layout(node, node.inputs[3:4])
        elif isinstance(node.op, Concat):
            self.keeps_layout(node, node.inputs)
        elif node.op.kind in (Kind.CONV, Kind.POOL) or isinstance(node.op, Resize | Pad):
            self.keeps_layout(node, node.inputs[:1])

    def keeps_layout(self, node: Node, operands: Sequence[Value | None]) -> None:
        """Record results with channels last if all operands have them so."""
        result = node.results[0]
        shape = self.shapes.get(result, ())
        if len(shape) >= FEATURE_MAP and all(
            v is not None
            and len(self.shapes.get(v, ())) == len(shape)
            and self.strides.get(v) == channels_last(self.shapes[v])
            for v in operands
        ):
            self.strides[result] = channels_last(shape)

    def view(self, node: Node, source: Value) -> None:
        """Record a view's strides, or the copy that it needs."""
        old, result = self.shapes.get(source), node.results[0]
        new = self.shapes.get(result)
        if old is None or new is None:
            return
        strides = self.strides.get(source) or contiguous(old)
        match node.op:
            case Transpose(perm=perm):
                order: Sequence[int] = perm or range(len(old))[::-1]
                self.strides[result] = tuple(strides[axis] for axis in order)
            # a part is read with the strides of the whole
            case Slice() | Split():
                for v in node.results:
                    self.strides[v] = strides
            case Expand():
                # an expanded axis repeats one element: its stride is 0
                lead = len(new) - len(old)
                axes = zip(old, new[lead:], strides, strict=True)
                self.strides[result] = (0,) * lead + tuple(s if a == b else 0 for a, b, s in axes)
            case Gather(axis=axis) if is_selection(node):
                axis %= len(old)
                self.strides[result] = (*strides[:axis], *strides[axis + 1 :])
            case Gather(axis=axis):
                self.strides[result] = windowed(strides, axis, window_steps(node) or (1, 1))
            case _:
                result_strides = viewed(old, strides, new)
                if result_strides is None:
                    self.copies[node] = result
                elif result_strides != contiguous(new):
                    self.strides[result] = result_strides

    def attended(self, result: Value) -> None:
        """Record fused attention: it writes ``[b, s, h, d]``, shown as ``[b, h, s, d]``."""
        shape = self.shapes.get(result, ())
        if len(shape) == 4:
            b, s, h, d = contiguous((shape[0], shape[2], shape[1], shape[3]))
            self.strides[result] = (b, h, s, d)

    def keeps_order(self, node: Node) -> None:
        """Record dense results, in the order of the first operand of their shape."""
        result = node.results[0]
        shape = self.shapes.get(result, ())
        for v in node.inputs:
            if v is None or len(shape) < 2 or self.shapes.get(v) != shape:
                continue
            strides = self.strides.get(v)
            # an expanded operand has several axes of stride 0 and so no order to follow
            if strides is not None and 0 not in strides:
                order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
                dense = contiguous(tuple([shape[axis] for axis in order]))
                by_axis = dict(zip(order, dense, strict=True))
                self.strides[result] = tuple(by_axis[axis] for axis in range(len(shape)))
            return


def windowed(strides: Extents, axis: int, steps: Extents) -> Extents:
    """Return the strides of windows along an axis, which stand in its place.

    >>> windowed((12, 4, 1), -1, (2, 1))
    (12, 4, 2, 1)
    """
    axis %= len(strides)
    return (*strides[:axis], *(strides[axis] * n for n in steps), *strides[axis + 1 :])
