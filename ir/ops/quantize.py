"""Quantisation and its reverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..definition import Attributes, Natural
from ..dim import Dim
from ..graph import Inputs
from ..op import Kind, Op, Types, count, has, tensor
from ..record import frozen
from ..types import DType, TensorType
from .cast import dtype_of

QUANTIZE_ALU = 4
"""Product with the reciprocal of the scale, rounding, addition of the zero point, clamping."""


@frozen
class QuantizeLinear(Op):
    """``saturate(round(x / y_scale) + y_zero_point)``, by tensor, by axis or by block.

    Shapes:  x -> same shape; the type is that of y_zero_point or ``output_dtype``, else u8.
    Work:    {alu}: product with the reciprocal of the scale, rounding, addition, clamping;
             the reciprocals themselves are left out.
    Traffic: each operand once, the result once.
    Source:  ONNX QuantizeLinear-25, ONNX Runtime contrib QuantizeLinear-1.
    """

    mnemonic = "quantize_linear"
    onnx = ("QuantizeLinear", "com.microsoft::QuantizeLinear")
    operands = ("x", "y_scale", "y_zero_point?")
    kind = Kind.QUANTIZE
    formulas = {"alu": f"{QUANTIZE_ALU}*e"}
    axis: int = 1
    saturate: int = 1
    block_size: Natural = 0
    output_dtype: DType = DType.UNKNOWN
    precision: int = 0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int, n_inputs: int, n_outputs: int) -> Attributes:
        """The number of the result's type becomes the type; 0 means that it is not given."""
        return {**attrs, "output_dtype": dtype_of(attrs.get("output_dtype", 0))}

    def infer(self, ins: Inputs) -> Types:
        dtype = self.output_dtype
        if dtype is DType.UNKNOWN:
            dtype = tensor(ins, 2).dtype if has(ins, 2) else DType.U8
        return (TensorType(dtype, tensor(ins, 0).shape),)


@frozen
class DequantizeLinear(Op):
    """``(x - x_zero_point) * x_scale``, by tensor, by axis or by block.

    Shapes:  x -> same shape; the type is ``output_dtype`` or that of x_scale.
    Work:    {alu}: a product, and a difference where there is a zero point.
    Traffic: each operand once, the result once.
    Source:  ONNX DequantizeLinear-25, ONNX Runtime contrib DequantizeLinear-1.
    """

    mnemonic = "dequantize_linear"
    onnx = ("DequantizeLinear", "com.microsoft::DequantizeLinear")
    operands = ("x", "x_scale", "x_zero_point?")
    kind = Kind.QUANTIZE
    formulas = {"alu": "a*e"}
    axis: int = 1
    block_size: Natural = 0
    output_dtype: DType = DType.UNKNOWN

    @classmethod
    def adapt(cls, attrs: Attributes, version: int, n_inputs: int, n_outputs: int) -> Attributes:
        """The number of the result's type becomes the type; 0 means that it is not given."""
        return {**attrs, "output_dtype": dtype_of(attrs.get("output_dtype", 0))}

    def infer(self, ins: Inputs) -> Types:
        dtype = self.output_dtype
        if dtype is DType.UNKNOWN:
            dtype = tensor(ins, 1).dtype
        return (TensorType(dtype, tensor(ins, 0).shape),)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"e": count(outs[0]), "a": 1 + has(ins, 2)}


class DynamicQuantizeLinear(Op):
    """Quantisation to u8 with scale and zero point from the smallest and largest element.

    Shapes:  x -> y like x in u8, y_scale f32[], y_zero_point u8[].
    Work:    {alu}: two comparisons for the range, 4 of QuantizeLinear.
    Traffic: x and the results once.
    Source:  ONNX DynamicQuantizeLinear-11.
    """

    mnemonic = "dynamic_quantize_linear"
    onnx = ("DynamicQuantizeLinear",)
    operands = ("x",)
    kind = Kind.QUANTIZE
    formulas: ClassVar[Mapping[str, str]] = {"alu": f"{2 + QUANTIZE_ALU}*e"}

    def infer(self, ins: Inputs) -> Types:
        y = TensorType(DType.U8, tensor(ins, 0).shape)
        return y, TensorType(DType.F32, ()), TensorType(DType.U8, ())
