"""Quantization and its reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import (
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Natural,
    Op,
    TensorType,
    Types,
    Value,
    count,
    frozen,
    has,
    known,
    tensor,
)
from ...tensors.known import elementwise
from ..elementwise import exact

QUANTIZE_ALU = 4
"""Product with the reciprocal of the scale, rounding, addition of the zero point, clamping."""


def _by_tensor(ins: Inputs) -> tuple[Known, Known, Known] | None:
    """Return x, scale and zero point if contents are known, in f32 with one scale; else None."""
    x, scale = known(ins, 0), known(ins, 1)
    zero_point = known(ins, 2) if has(ins, 2) else Known((), (0,))
    if x is None or scale is None or zero_point is None:
        return None
    # one scale in f32; other types would be rounded in another way
    is_single = len(scale.items) == len(zero_point.items) == 1
    if not is_single or tensor(ins, 1).dtype is not DType.F32:
        return None
    return x, Known((), scale.items), Known((), zero_point.items)


@frozen
class QuantizeLinear(Op):
    """``saturate(round(x / y_scale) + y_zero_point)``, per tensor, per axis or per block.

    Shapes:  x -> same shape; the type is that of y_zero_point or ``output_dtype``, else u8.
    Work:    {alu}: product with the reciprocal of the scale, rounding, addition, clamping;
             the reciprocals themselves are left out.
    Traffic: each operand once, the result once.
    Source:  ONNX QuantizeLinear-25, ONNX Runtime contrib QuantizeLinear-1.
    """

    mnemonic = "quantize_linear"
    onnx = "QuantizeLinear com.microsoft::QuantizeLinear"
    operands = "x y_scale y_zero_point?"
    kind = Kind.QUANTIZE
    formulas = {"alu": f"{QUANTIZE_ALU}*e"}
    axis: int = 1
    saturate: int = 1
    block_size: Natural = 0
    output_dtype: DType = DType.UNKNOWN
    precision: int = 0

    def result_dtype(self, ins: Inputs) -> DType:
        if self.output_dtype is not DType.UNKNOWN:
            return self.output_dtype
        return tensor(ins, 2).dtype if has(ins, 2) else DType.U8

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        """Quantize known contents: shapes that a model computes in floats are quantized too."""
        contents, target = _by_tensor(ins), outs[0]
        if contents is None or not isinstance(target, TensorType) or not target.dtype.is_integer:
            return ()
        span, lowest = 1 << target.dtype.bits, 0
        if target.dtype.is_signed:
            lowest = -(span >> 1)

        def quantized(x: Item, scale: Item, zero_point: Item) -> Item:
            # the quotient in f32, then to the nearest integer, ties to even
            ratio = exact.round_to(exact.plain(x) / exact.plain(scale), DType.F32)
            level = round(exact.plain(ratio)) + int(exact.plain(zero_point))
            return min(max(level, lowest), lowest + span - 1)

        return (elementwise(quantized, *contents),)


@frozen
class DequantizeLinear(Op):
    """``(x - x_zero_point) * x_scale``, by tensor, by axis or by block.

    Shapes:  x -> same shape; the type is ``output_dtype`` or that of x_scale.
    Work:    {alu}: a product, and a difference where there is a zero point.
    Traffic: each operand once, the result once.
    Source:  ONNX DequantizeLinear-25, ONNX Runtime contrib DequantizeLinear-1.
    """

    mnemonic = "dequantize_linear"
    onnx = "DequantizeLinear com.microsoft::DequantizeLinear"
    operands = "x x_scale x_zero_point?"
    kind = Kind.QUANTIZE
    formulas = {"alu": "a*e"}
    axis: int = 1
    block_size: Natural = 0
    output_dtype: DType = DType.UNKNOWN

    def result_dtype(self, ins: Inputs) -> DType:
        declared = self.output_dtype
        return tensor(ins, 1).dtype if declared is DType.UNKNOWN else declared

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        contents, target = _by_tensor(ins), outs[0]
        if contents is None or not isinstance(target, TensorType) or target.dtype is not DType.F32:
            return ()

        def real(x: Item, scale: Item, zero_point: Item) -> Item:
            # rounded to f32 after each operation, as kernels compute
            steps = exact.round_to(exact.plain(x) - exact.plain(zero_point), DType.F32)
            return exact.round_to(exact.plain(steps) * exact.plain(scale), DType.F32)

        return (elementwise(real, *contents),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "a": 1 + has(ins, 2)}


class DynamicQuantizeLinear(Op):
    """Quantization to u8 with scale and zero point from the smallest and largest element.

    Shapes:  x -> y like x in u8, y_scale f32[], y_zero_point u8[].
    Work:    {alu}: two comparisons for the range, 4 of QuantizeLinear.
    Traffic: x and the results once.
    Source:  ONNX DynamicQuantizeLinear-11.
    """

    mnemonic = "dynamic_quantize_linear"
    onnx = "DynamicQuantizeLinear"
    operands = "x"
    kind = Kind.QUANTIZE
    formulas = {"alu": f"{2 + QUANTIZE_ALU}*e"}

    def infer(self, ins: Inputs) -> Types:
        y = TensorType(DType.U8, tensor(ins, 0).shape)
        return y, TensorType(DType.F32, ()), TensorType(DType.U8, ())

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        x = known(ins, 0)
        if x is None or not x.is_complete or not x.items:
            return ()
        numbers = [exact.plain(i) for i in x.items]
        # the range contains 0, so that it is representable; u8 has 255 steps
        low, high = min(*numbers, 0.0), max(*numbers, 0.0)
        # elements that are all 0 take any step
        step = exact.plain(exact.round_to((high - low) / 255, DType.F32)) or 1.0

        def level(x: float) -> int:
            # the quotient in f32, as kernels compute it, then the nearest integer, ties to even
            return round(exact.plain(exact.round_to(x / step, DType.F32)))

        zero_point = min(max(level(-low), 0), 255)
        levels = [min(max(level(n) + zero_point, 0), 255) for n in numbers]
        return Known.of(x.shape, levels), Known((), (step,)), Known((), (zero_point,))


def folded_as(
    real: Op, ins: Inputs, data: Mapping[int, bool], result: Sequence[int], outs: Types
) -> Folded:
    """Return the contents that an operator gives between dequantization and quantization.

    Args:
        real: the operator.
        ins: operands; a quantized one is followed by its scale and its zero point.
        data: places of the operands of ``real``, and whether each is quantized.
        result: places of the scale and the zero point of the result.
        outs: types of the results.
    """
    operands: list[Value | None] = []
    for index, is_quantized in data.items():
        v = ins[index] if index < len(ins) else None
        if v is None or v.known is None or not isinstance(v.type, TensorType):
            return ()
        if is_quantized:
            type_ = TensorType(DType.F32, v.type.shape)
            contents = DequantizeLinear().fold(ins[index : index + 3], (type_,))
            v = Value("", type_, contents[0]) if contents else None
        operands.append(v)
    types = real.infer(tuple(operands))
    contents = real.fold(tuple(operands), types) if None not in operands else ()
    scales = [ins[index] if index < len(ins) else None for index in result]
    return (
        QuantizeLinear().fold((Value("", types[0], contents[0]), *scales), outs) if contents else ()
    )
