"""Gradients of gathers: additions into zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.errors import ShapeError

from ... import (
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Results,
    Shape,
    TensorType,
    Traffic,
    Types,
    Value,
    count,
    frozen,
    normal_axis,
    single,
    tensor,
)
from ...op import given
from ...traffic import moved, stored
from ..convolution.conv_grad import declared_shape
from ..elementwise.cast import Cast
from .gather import OneHot
from .scatter import ScatterElements, ScatterND

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class GatherGrad(Op):
    """Gradient of a table: rows of dY added at the indices, zero elsewhere.

    Shapes:  shape, indices[q...], dY[a..., q..., b...] -> a tensor of ``shape`` [a..., d, b...].
    Work:    an addition for each element of dY: {alu}.
    Traffic: indices and dY once, the result once.
    Source:  ONNX Runtime training, com.microsoft GatherGrad; PyTorch, embedding_dense_backward.
    """

    mnemonic = "gather_grad"
    onnx = "com.microsoft::GatherGrad"
    operands = "shape indices dY"
    kind = Kind.GATHER
    formulas = {"alu": "e"}
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        return single(tensor(ins, 2).dtype, declared_shape(ins, 0))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 2))}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return moved([stored(tensor(ins, 1)), stored(tensor(ins, 2))], [stored(outs[0])])

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        indices, dy = given(ins, 1, 2)
        assert isinstance(outs[0], TensorType)
        shape, index = outs[0].shape or (), tensor(ins, 1).shape or ()
        axis = normal_axis(self.axis, len(shape))
        # the axis goes first, in the result and in dY
        other_extents = (*shape[:axis], *shape[axis + 1 :])
        places = range(axis, axis + len(index))
        others = [i for i in range(len(other_extents) + len(index)) if i not in places]
        rows = tape.transpose(dy, (*places, *others))
        zeros = tape.zeros((shape[axis], *other_extents), outs[0].dtype)
        # an index vector of one entry per row, as ScatterND takes
        vectors = tape.reshape(indices, (*index, 1))
        total = tape.apply(ScatterND(reduction="add"), zeros, vectors, rows)
        # the axis goes back to its place
        order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
        return (tape.transpose(total, order),)


@frozen
class GatherElementsGrad(GatherGrad):
    """Gradient of single elements read along an axis.

    Shapes:  shape, indices and dY of one shape, X -> a tensor of ``shape``.
    Work:    an addition for each element of dY: {alu}.
    Traffic: indices and dY once, the result once. X is an operand, so it is saved, but not
             read.
    Source:  ONNX Runtime training, com.microsoft GatherElementsGrad; PyTorch, gather_backward,
             which takes the operand for its shape.
    """

    mnemonic = "gather_elements_grad"
    onnx = "com.microsoft::GatherElementsGrad"
    operands = "shape indices dY X"

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        assert isinstance(outs[0], TensorType)
        zeros = tape.zeros(outs[0].shape or (), outs[0].dtype)
        op = ScatterElements(axis=self.axis, reduction="add")
        return (tape.apply(op, zeros, ins[1], ins[2]),)


@frozen
class GatherNDGrad(GatherGrad):
    """Gradient of slices read by index vectors, with ``batch_dims`` leading batch axes.

    Shapes:  shape, indices[b..., q..., i], dY -> a tensor of ``shape``.
    Work:    an addition for each element of dY: {alu}.
    Traffic: indices and dY once, the result once.
    Source:  ONNX Runtime training, com.microsoft GatherNDGrad.
    """

    mnemonic = "gather_nd_grad"
    onnx = "com.microsoft::GatherNDGrad"
    batch_dims: int = 0

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        assert isinstance(outs[0], TensorType)
        if self.batch_dims:
            raise ShapeError("no expansion for GatherND with batch_dims")
        zeros = tape.zeros(outs[0].shape or (), outs[0].dtype)
        return (tape.apply(ScatterND(reduction="add"), zeros, ins[1], ins[2]),)


def one_hot(
    tape: Tape, labels: Value, shape: Shape, axis: int, ignored: int | None, dtype: DType
) -> Value:
    """Return 1 at the label along ``axis`` of ``shape``, 0 elsewhere and for ignored labels."""
    depth = tape.constant((shape[axis],), (1,), DType.I64)
    values = tape.constant((0.0, 1.0), (2,), dtype)
    if ignored is None:
        return tape.apply(OneHot(axis=axis), labels, depth, values)
    from ..elementwise.logic import Equal

    label_type = labels.type.dtype if isinstance(labels.type, TensorType) else DType.I64
    is_ignored = tape.apply(Equal(), labels, tape.number(ignored, label_type))
    # an ignored label, often negative, is replaced by 0 and its row multiplied by 0
    indices = tape.where(is_ignored, tape.number(0, label_type), labels)
    hot = tape.apply(OneHot(axis=axis), indices, depth, values)
    mask = tape.apply(Cast(to=dtype), is_ignored)
    ignored_rows = tape.reshape(mask, (*shape[:axis], 1, *shape[axis + 1 :]))
    return tape.mul(hot, tape.sub(tape.number(1, dtype), ignored_rows))
