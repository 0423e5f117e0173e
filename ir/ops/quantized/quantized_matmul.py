"""Matrix products on 8-bit integers and 8-bit floats, and their requantization."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import DType, Inputs, Types, first_dtype, frozen, has, shape_at, single, tensor
from ...problem import Product
from ...tensors.types import BY_ONNX
from ..contraction.matmul import Gemm, MatMul

SCALE_BLOCKS = (16, 32, 64, 128, 256)
"""Elements that share a scale, in published formats."""
REQUANTIZE = 4
"""Scale, round, add the zero point, clamp (ONNX QuantizeLinear-21)."""


class MatMulInteger(MatMul):
    """Product of 8-bit matrices in 32-bit integers.

    Shapes:  as MatMul.
    Work:    {mac} in int8; correcting for zero points, m*k + k*n, is left out.
    Traffic: each operand once, Y once.
    Source:  ONNX MatMulInteger-10.
    """

    mnemonic = "matmul_integer"
    onnx = "MatMulInteger"
    operands = "A B a_zero_point? b_zero_point?"
    macs_in = DType.I8
    result = DType.I32


class MatMulInteger16(MatMul):
    """Product of 16-bit matrices in 32-bit integers.

    Work:    {mac} in int16.
    Source:  ONNX Runtime ContribOperators, MatMulInteger16.
    """

    mnemonic = "matmul_integer16"
    onnx = "com.microsoft::MatMulInteger16"

    def result_dtype(self, ins: Inputs) -> DType:
        # signed unless both are unsigned
        unsigned = {tensor(ins, 0).dtype, tensor(ins, 1).dtype} == {DType.U16}
        return DType.U32 if unsigned else DType.I32


class QLinearMatMul(MatMul):
    """Product of 8-bit matrices, requantized to 8 bits.

    Shapes:  as MatMul.
    Work:    {mac} in int8; x = 4 (scale, round, add the zero point, clamp); correcting
             for zero points is left out.
    Traffic: each operand once, Y once.
    Source:  ONNX QLinearMatMul-21.
    """

    mnemonic = "qlinear_matmul"
    onnx = "QLinearMatMul"
    operands = "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point"
    at = (0, 3)  # a and b
    typed_by = (7, 0)  # by the zero point of the result, else by a
    fused_alu = REQUANTIZE

    def mac_dtype(self, ins: Inputs) -> DType | None:
        # opset 21 allows 8-bit floats here too
        return tensor(ins, 0).dtype if tensor(ins, 0).dtype.is_float else DType.I8


class MatMulIntegerToFloat(MatMul):
    """Product of 8-bit matrices, scaled to floating point.

    Shapes:  as MatMul; bias[n].
    Work:    {mac} in int8; x = 1 for the scale and 1 for the bias; correcting for zero
             points is left out.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, MatMulIntegerToFloat.
    """

    mnemonic = "matmul_integer_to_float"
    onnx = "com.microsoft::MatMulIntegerToFloat"
    operands = "A B a_scale b_scale a_zero_point? b_zero_point? bias?"
    typed_by = (2, 3, 6)  # by a scale or the bias: A and B are integers
    fused_alu, added_at = 1, (6,)  # the scale of every result; one more for a bias
    macs_in = DType.I8


class DynamicQuantizeMatMul(MatMul):
    """Quantization of A at run time, product with an 8-bit matrix, scaling to floating point.

    Shapes:  as MatMul; b_scale scalar or [n], bias[n].
    Work:    {mac} in int8; x = 1 for the scale and 1 for the bias. Quantizing A (its
             range, then 4 operations per element) is left out: b*m*k against b*m*n*k.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, DynamicQuantizeMatMul.
    """

    mnemonic = "dynamic_quantize_matmul"
    onnx = "com.microsoft::DynamicQuantizeMatMul"
    operands = "A B b_scale b_zero_point? bias?"
    typed_by = (0, 2)  # by A, else by the scale of B
    fused_alu, added_at = 1, (4,)  # the scale of every result; one more for a bias
    macs_in = DType.I8


@frozen
class QOrderedMatMul(MatMul):
    """Product of int8 matrices in cuBLASLt layouts: ``A @ B + bias + C``, requantized.

    Shapes:  A[b, m, k], B[k, n] -> Y[b, m, n]; layouts change the order of elements only.
    Work:    {mac} in int8; x = 4 for requantizing, 1 for the bias, 2 for C.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, QOrderedMatMul.
    """

    mnemonic = "qordered_matmul"
    onnx = "com.microsoft::QOrderedMatMul"
    operands = "A scale_A B scale_B scale_Y bias? C? scale_C?"
    at = (0, 2)  # A and B
    # C takes a product with its scale and an addition
    fused_alu, added_at = REQUANTIZE, (5, 6, 6)

    order_A: int = 0  # noqa: N815
    order_B: int = 0  # noqa: N815
    order_Y: int = 0  # noqa: N815


@frozen
class QGemm(Gemm):
    """Product of 8-bit matrices plus a 32-bit C, in floating point or requantized.

    Shapes:  as Gemm.
    Work:    {mac} in int8; x = 1 for C, 1 for the scale, or 4 where Y is requantized.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, QGemm.
    """

    mnemonic = "qgemm"
    onnx = "com.microsoft::QGemm"
    operands = "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?"
    at = (0, 3)  # A and B
    macs_in = DType.I8

    def result_dtype(self, ins: Inputs) -> DType:
        # the zero point of Y, else a scale
        return tensor(ins, 8).dtype if has(ins, 8) else first_dtype(ins, 1, 4)

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        # with a zero point of Y the result is quantized again, else scaled
        return int(has(ins, 6)) + (REQUANTIZE if has(ins, 8) else 1), 0


@frozen
class GemmFloat8(Gemm):
    """Gemm on 8-bit or wider floats with one scale for each operand.

    Shapes:  as Gemm.
    Work:    {mac} in the element type of A; x counts ``alpha``, C and the scale of Y. A scaleB
             with an axis along k is one of blocks, as serving engines have it.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, GemmFloat8.
    """

    mnemonic = "gemm_float8"
    onnx = "com.microsoft::GemmFloat8"
    operands = "A B C? scaleA? scaleB? scaleY?"

    beta: float = 0.0
    dtype: int | DType = 1  # ONNX's number of f32
    activation: str = ""

    def result_dtype(self, ins: Inputs) -> DType:
        if isinstance(self.dtype, DType):
            return self.dtype
        return BY_ONNX.get(self.dtype, DType.UNKNOWN)

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        alu, sfu = super().epilogue(ins)
        return alu + int(has(ins, 5)), sfu  # one for scaleY

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        # operand 4 is scaleB
        product, scales = super().problem(ins, outs), shape_at(ins, 4)
        if product is None or scales is None or len(scales) != 2 or not scales[1]:
            return product
        # The last block of a row may be shorter, so the quotient is at most the size of a block:
        # that is the next size of `SCALE_BLOCKS`.
        block = product.k // scales[1]
        sizes = [size for size in SCALE_BLOCKS if isinstance(block, int) and size >= block]
        return product._replace(scale_block=sizes[0] if sizes else 0)


@frozen
class SparseToDenseMatMul(MatMul):
    """Product of a sparse and a dense matrix.

    Shapes:  A[m, k] sparse, B[k, n] -> Y[m, n], after ``transA`` and ``transB``.
    Work:    unknown: it follows the number of non-zeros, which types do not tell.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, SparseToDenseMatMul.
    """

    mnemonic = "sparse_to_dense_matmul"
    onnx = "com.microsoft::SparseToDenseMatMul"
    formulas = {}
    is_counted = False

    alpha: float = 1.0
    transA: int = 0  # noqa: N815
    transB: int = 0  # noqa: N815

    def infer(self, ins: Inputs) -> Types:
        a, b = shape_at(ins, 0), shape_at(ins, 1)
        if a is None or b is None:
            return single(first_dtype(ins, 1, 0), None)
        if len(a) != 2 or len(b) != 2:
            raise ShapeError(f"sparse product needs matrices, got ranks {len(a)} and {len(b)}")
        rows, columns = a[1 if self.transA else 0], b[0 if self.transB else 1]
        return single(first_dtype(ins, 1, 0), (rows, columns))
