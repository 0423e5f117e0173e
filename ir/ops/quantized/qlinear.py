"""ONNX Runtime elementwise operators, reductions and concatenation on 8-bit integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    Extents,
    Folded,
    Inputs,
    Kind,
    Op,
    Poly,
    Shape,
    Types,
    count,
    dim_sum,
    element_count,
    first_dtype,
    frozen,
    normal_axis,
    shape_at,
    single,
    tensor,
)
from ...problem import Rows
from ...tensors.broadcast import broadcast
from ..elementwise.elementwise import Add, Mul
from ..elementwise.logic import Where
from ..movement.slice import Concat
from ..normalization.reduce import reduced_axes, reduced_shape
from .quantize import QUANTIZE_ALU, folded_as

DEQUANTIZE_ALU = 2
"""Difference with the zero point, product with the scale."""


@frozen
class QLinearElementwise(Op):
    """An elementwise operator between dequantization and quantization.

    Shapes:  the data operands broadcast to e elements.
    Work:    {alu} with a = 2 for each data operand, the operation, 4 for quantization.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators.
    """

    kind = Kind.QUANTIZE
    formulas = {"alu": "a*e"}
    data: ClassVar[tuple[int, ...]] = (0, 3)
    """Operands that are broadcast."""
    quantized: ClassVar[tuple[int, ...]] = (7, 0, 3)
    """Position of the result's zero point, then those of the quantized data operands: they
    determine the element type of the result, in order of preference."""
    alu = 1
    real: ClassVar[Op]
    """The operator on real numbers."""

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        # the zero point of the result follows its scale
        last = self.quantized[0]
        # positions of the operands, and whether each has a scale and a zero point
        data = {index: index in self.quantized for index in self.data}
        return folded_as(self.real, ins, data, (last - 1, last), outs)

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([shape_at(ins, i) for i in self.data])
        return single(first_dtype(ins, *self.quantized), shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # the first position in `quantized` is that of the result; a condition has none there, as it
        # is not dequantized
        a = DEQUANTIZE_ALU * len(self.quantized[1:]) + self.alu + QUANTIZE_ALU
        return {"e": count(outs[0]), "a": a}


BINARY = "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?"


class QLinearAdd(QLinearElementwise):
    """Sum of quantized operands. Source: ONNX Runtime contrib QLinearAdd-1."""

    mnemonic = "qlinear_add"
    onnx = "com.microsoft::QLinearAdd"
    operands = BINARY
    real = Add()


class QLinearMul(QLinearElementwise):
    """Product of quantized operands. Source: ONNX Runtime contrib QLinearMul-1."""

    mnemonic = "qlinear_mul"
    onnx = "com.microsoft::QLinearMul"
    operands = BINARY
    real = Mul()


class QLinearWhere(QLinearElementwise):
    """Selection between quantized operands. Source: ONNX Runtime contrib QLinearWhere-1."""

    mnemonic = "qlinear_where"
    onnx = "com.microsoft::QLinearWhere"
    operands = "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point"
    data = (0, 1, 4)
    quantized = (8, 1, 4)
    real = Where()


@frozen
class QLinearLookup(Op):
    """A function of one 8-bit operand, computed by a table of its 256 results.

    Shapes:  X -> same shape.
    Work:    {integer}: one look-up per element; making the table is left out.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators; qlinear_lookup_table.cc.
    """

    kind = Kind.QUANTIZE
    typed_by = (4, 0)  # by the zero point of the result, else by X
    formulas = {"integer": "e"}
    operands = "X X_scale X_zero_point? Y_scale Y_zero_point?"


class QLinearSigmoid(QLinearLookup):
    """Sigmoid of a quantized operand. Source: ONNX Runtime contrib QLinearSigmoid-1."""

    mnemonic = "qlinear_sigmoid"
    onnx = "com.microsoft::QLinearSigmoid"


@frozen
class QLinearLeakyRelu(QLinearLookup):
    """LeakyRelu of a quantized operand. Source: ONNX Runtime contrib QLinearLeakyRelu-1."""

    mnemonic = "qlinear_leaky_relu"
    onnx = "com.microsoft::QLinearLeakyRelu"
    alpha: float = 0.01


@frozen
class QLinearSoftmax(Op):
    """Softmax of a quantized operand, its exponentials from a table.

    Shapes:  X -> same shape; r rows of ``axis`` (from it on for ``opset`` below 13).
    Work:    comparison and addition, and 4 for quantization per element: {alu}; a look-up per
             element: {integer}; a reciprocal per row: {sfu}.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib QLinearSoftmax-1.
    """

    mnemonic = "qlinear_softmax"
    onnx = "com.microsoft::QLinearSoftmax"
    operands = "X X_scale x_zero_point? y_scale y_zero_point"
    kind = Kind.SOFTMAX
    typed_by = (4, 0)  # by the zero point of the result, else by X
    formulas = {"alu": "6*e", "integer": "e", "sfu": "r"}
    axis: int = -1
    opset: int = 13

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = shape_at(ins, 0)
        if not shape:
            return {"e": count(outs[0]), "r": 0 if shape is None else 1}
        axis = normal_axis(self.axis, len(shape))
        # before opset 13 all axes from `axis` on are one row
        rows = shape[:axis] if self.opset < 13 else shape[:axis] + shape[axis + 1 :]
        return {"e": count(outs[0]), "r": element_count(rows)}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        e, r = self.extents(ins, outs).values()
        return Rows(rows=r, elements=e)


@frozen
class QLinearReduceMean(Op):
    """Mean of quantized elements over ``axes``.

    Shapes:  data -> the axes have extent 1, or are left out without ``keepdims``.
    Work:    dequantization and addition for each of e elements, division and quantization for
             each of r results: {alu}, {sfu}.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib QLinearReduceMean-1.
    """

    mnemonic = "qlinear_reduce_mean"
    onnx = "com.microsoft::QLinearReduceMean"
    operands = "data data_scale data_zero_point? reduced_scale reduced_zero_point?"
    kind = Kind.REDUCTION
    formulas = {"alu": f"{DEQUANTIZE_ALU + 1}*e + {QUANTIZE_ALU}*r", "sfu": "r"}
    axes: tuple[int, ...] = ()
    keepdims: int = 1

    def infer(self, ins: Inputs) -> Types:
        shape = shape_at(ins, 0)
        if shape is not None:
            axes = reduced_axes(self.axes or range(len(shape)), len(shape))
            shape = reduced_shape(shape, axes, self.keepdims)
        elif not self.axes and not self.keepdims:
            shape = ()
        # the zero point of the result has its type
        return single(first_dtype(ins, 4, 0), shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 0)), "r": count(outs[0])}


@frozen
class QLinearConcat(Op):
    """Quantized tensors concatenated along ``axis`` and requantized to one scale.

    Shapes:  (X, scale, zero point)... -> the extents along ``axis`` add up.
    Work:    {integer}: one look-up per element.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib QLinearConcat-1.
    """

    mnemonic = "qlinear_concat"
    onnx = "com.microsoft::QLinearConcat"
    operands = "Y_scale Y_zero_point inputs+"
    kind = Kind.QUANTIZE
    formulas = {"integer": "e"}
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        # after scale and zero point of the result, each input is data, scale and zero point
        shapes = [shape_at(ins, i) for i in range(2, len(ins), 3)]
        return single(first_dtype(ins, 1, 2), joined(shapes, self.axis))

    def operand_name(self, index: int) -> str:
        if index < 2:
            return self.signature.names[index]
        return ("X", "X_scale", "X_zero_point")[(index - 2) % 3]

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = dict.fromkeys(range(2, len(ins), 3), True)
        return folded_as(Concat(axis=self.axis), ins, data, (0, 1), outs)


def joined(shapes: Sequence[Shape | None], axis: int) -> Shape | None:
    """Return the shape of a concatenation along ``axis``, None if a rank is unknown.

    Raises:
        ShapeError: the ranks differ.
    """
    ranked = [s for s in shapes if s is not None]
    if not ranked or len(ranked) < len(shapes):
        return None
    if len({len(s) for s in ranked}) > 1:
        raise ShapeError(f"ranks {[len(s) for s in ranked]} differ")
    axis = normal_axis(axis, len(ranked[0]))
    columns = zip(*ranked, strict=True)
    # of equal extents a number is preferred to a symbol
    extents = [next((d for d in ds if not isinstance(d, Poly)), ds[0]) for ds in columns]
    extents[axis] = dim_sum(s[axis] for s in ranked)
    return tuple(extents)
