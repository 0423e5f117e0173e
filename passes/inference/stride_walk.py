"""Walk over the nodes of a graph that follows the strides of values, as PyTorch sets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from perfc.ir import Env, Kind, Node, TensorType, Value, entity, evaluate
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.movement import Expand, Transpose
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.ops.movement.slice import Concat, Slice, Split
from perfc.ir.ops.movement.view import Clone, ToContiguous
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.normalization.normalization_grad import BatchNormalizationGrad
from perfc.ir.ops.resampling.resize import Resize

from ..fusion.windows import is_selection, window_steps
from ..runtimes import Runtime
from .placement import FEATURE_MAP, Extents, channels_last, contiguous, viewed


@entity
class StrideWalk:
    """State of one walk over the nodes.

    Args:
        env: values of the symbols.
        table: runtime, which decides what is a view.
        shapes: extents as numbers.
        strides: strides of the values that are not contiguous.
        copies: views that strides cannot express, and the result that each writes as a copy.
        extents: extents as numbers by type, as many values share one.
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
        """Record the strides of a node's results.

        A node of fused attention is taken for the last of them, the only one that writes memory.
        """
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
            case Clone(dense=dense):
                self.copies[node] = result
                if not dense:
                    self.keeps_order(node)
            case ToContiguous():
                steps = zip(old, strides, contiguous(old), strict=True)
                if any(n > 1 and a != b for n, a, b in steps):
                    self.copies[node] = result
            case Transpose(perm=perm):
                order: Sequence[int] = perm or range(len(old))[::-1]
                self.strides[result] = tuple(strides[axis] for axis in order)
            # a part is read with the strides of the whole; left out: a step of a slice, which
            # multiplies the stride of its axis
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
                # a gather that is a view but no selection takes windows
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
        """Record a dense result with its axes in the order of the first operand of its shape."""
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
