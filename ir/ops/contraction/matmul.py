"""Matrix products: multiply–accumulates that matrix units can execute."""

from __future__ import annotations

from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Op,
    Shape,
    Types,
    element_count,
    frozen,
    has,
    same,
    shape_at,
    single,
)
from ...problem import Product
from ...symbolic.fresh import data_extent
from ...tensors.broadcast import broadcast
from .epilogue import Epilogue, activation_cost


def contract(a: Dim, b: Dim) -> Dim:
    """Return the contracted extent, known from either side.

    Raises:
        ShapeError: the sides differ.
    """
    if same(a, b) is False:
        raise ShapeError(f"contracted extents differ: {a} and {b}")
    # a number is preferred to a symbol
    return a if isinstance(a, int) else b


def matmul_shape(a: Shape, b: Shape) -> tuple[Shape, Dim]:
    """Return the shape of ``a @ b`` as in NumPy, and the contracted extent.

    Raises:
        ShapeError: a scalar operand, or extents that do not match.
    """
    if not a or not b:
        raise ShapeError("a matrix product needs operands of rank 1 or more")
    # of a matrix b the rows, of a vector its only axis
    k = contract(a[-1], b[-2:][0])
    batch = broadcast([a[:-2], b[:-2]]) or ()
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    return (*batch, *rows, *columns), k


def transposed(shape: Shape | None, swap_last: int, rotate_batch: int = 0) -> Shape | None:
    """Return ``shape`` with its first axis moved before the last, then the last two exchanged."""
    if shape is None:
        return None
    # transBatch: the first axis becomes the rows
    if rotate_batch and len(shape) > 2:
        shape = (*shape[1:-1], shape[0], shape[-1])
    if swap_last and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return shape


@frozen
class MatMul(Epilogue):
    """Matrix product, batched over the leading axes.

    Shapes:  A[b, m, k], B[b, k, n] -> Y[b, m, n]; vectors drop their axis; b broadcasts and stands
             for the product of all leading axes.
    Work:    {mac}; alu = x and sfu = y for each result, from what is fused to the product.
    Traffic: each operand once, Y once.
    Source:  ONNX MatMul-13, numpy.matmul.
    """

    mnemonic = "matmul"
    onnx = "MatMul"
    operands = "A B"
    kind = Kind.MATMUL
    formulas = {"mac": "b*m*n*k", "alu": "b*m*n*x", "sfu": "b*m*n*y"}
    at: ClassVar[tuple[int, int]] = (0, 1)
    """Positions of the factors among the operands."""
    typed_by: ClassVar[tuple[int, ...]] = (0, 1)

    def factors(self, ins: Inputs) -> tuple[Shape | None, Shape | None]:
        """Return the shapes of the factors as they are multiplied."""
        left, right = self.at
        return shape_at(ins, left), shape_at(ins, right)

    def infer(self, ins: Inputs) -> Types:
        a, b = self.factors(ins)
        if a is None or b is None:
            return single(self.result_dtype(ins), None)
        return single(self.result_dtype(ins), matmul_shape(a, b)[0])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        a, b = self.factors(ins)
        if a is None or b is None:
            return {}
        k = matmul_shape(a, b)[1]
        # a vector is one row, or one column
        m = a[-2] if len(a) > 1 else 1
        n = b[-1] if len(b) > 1 else 1
        x, y = self.epilogue(ins)
        batch = element_count(broadcast([a[:-2], b[:-2]]) or ())
        return {"b": batch, "m": m, "n": n, "k": k, "x": x, "y": y}

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        e, right = self.extents(ins, outs), self.factors(ins)[1]
        if not e or right is None:
            return None
        # one right matrix serves the whole batch
        return Product(e["b"], e["m"], e["n"], e["k"], is_shared=len(right) <= 2)


@frozen
class FusedMatMul(MatMul):
    """Matrix product of operands transposed on the fly, scaled by ``alpha``.

    Shapes:  as MatMul, after ``transBatch`` has moved the first axis before the last one and
             ``trans`` has exchanged the last two.
    Work:    {mac}; x = 1 for a product with ``alpha`` other than 1.
    Traffic: A, B and Y once; transposing moves nothing.
    Source:  ONNX Runtime ContribOperators, FusedMatMul and TransposeMatMul.
    """

    mnemonic = "fused_matmul"
    onnx = "com.microsoft::FusedMatMul com.microsoft::TransposeMatMul"

    alpha: float = 1.0
    transA: int = 0  # noqa: N815
    transB: int = 0  # noqa: N815
    transBatchA: int = 0  # noqa: N815
    transBatchB: int = 0  # noqa: N815

    def factors(self, ins: Inputs) -> tuple[Shape | None, Shape | None]:
        return (
            transposed(shape_at(ins, 0), self.transA, self.transBatchA),
            transposed(shape_at(ins, 1), self.transB, self.transBatchB),
        )

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        alu, sfu = super().epilogue(ins)
        return alu + int(self.alpha != 1.0), sfu


@frozen
class FusedMatMulActivation(FusedMatMul):
    """FusedMatMul followed by an activation.

    Work:    as FusedMatMul, with the operations of ``activation`` in x and y.
    Source:  ONNX Runtime ContribOperators, FusedMatMulActivation.
    """

    mnemonic = "fused_matmul_activation"
    onnx = "com.microsoft::FusedMatMulActivation"

    activation: str = ""
    activation_alpha: float = 0.0
    activation_beta: float = 0.0
    activation_gamma: float = 0.0
    activation_axis: int = 0


class GemmFastGelu(MatMul):
    """``FastGelu(X @ W + bias)``.

    Shapes:  X[b, m, k], W[k, n], bias[n] -> Y[b, m, n].
    Work:    {mac}; x and y those of the tanh form of Gelu, and one addition for the bias.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, GemmFastGelu; arXiv:1606.08415 section 2.
    """

    mnemonic = "gemm_fast_gelu"
    onnx = "com.microsoft::GemmFastGelu"
    operands = "X W bias?"
    added_at = (2,)

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        alu, sfu = activation_cost("fastgelu")
        return super().epilogue(ins)[0] + alu, sfu


@frozen
class Gemm(Op):
    """``alpha * A @ B + beta * C`` on matrices.

    Shapes:  A[m, k] and B[k, n], or their transposes, C broadcast to [m, n] -> Y[m, n].
    Work:    {mac}; {alu}, x counting a product for ``alpha`` and for ``beta`` other
             than 1 and an addition for C; {sfu} from a fused activation.
    Traffic: each operand once, Y once.
    Source:  ONNX Gemm-13.
    """

    mnemonic = "gemm"
    onnx = "Gemm"
    operands = "A B C?"
    kind = Kind.MATMUL
    formulas = {"mac": "m*n*k", "alu": "m*n*x", "sfu": "m*n*y"}
    at: ClassVar[tuple[int, int]] = (0, 1)
    """Positions of A and B among the operands."""
    typed_by = (0, 1, 2)

    alpha: float = 1.0
    beta: float = 1.0
    transA: int = 0  # noqa: N815
    transB: int = 0  # noqa: N815

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        """Return operations per element of the product, on the vector and special units."""
        # beta = 0 drops C; else a sum, and a product where beta is not 1
        added = int(has(ins, 2)) * (1 + int(self.beta != 1.0)) if self.beta else 0
        alu, sfu = activation_cost(getattr(self, "activation", ""))
        return added + int(self.alpha != 1.0) + alu, sfu

    def mnk(self, ins: Inputs) -> tuple[Dim | None, Dim | None, Dim | None]:
        """Return rows, columns and the contracted extent; None for those that are unknown.

        Raises:
            ShapeError: an operand is not a matrix, or the contracted extents differ.
        """
        first, second = self.at
        a = transposed(shape_at(ins, first), self.transA)
        b = transposed(shape_at(ins, second), self.transB)
        for s in (a, b):
            if s is not None and len(s) != 2:
                raise ShapeError(f"gemm needs matrices, got rank {len(s)}")
        k = contract(a[1], b[0]) if a and b else a[1] if a else b[0] if b else None
        return (a[0] if a else None), (b[1] if b else None), k

    def infer(self, ins: Inputs) -> Types:
        m, n, _ = self.mnk(ins)
        shape = (data_extent() if m is None else m, data_extent() if n is None else n)
        return single(self.result_dtype(ins), shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        m, n, k = self.mnk(ins)
        if m is None or n is None or k is None:
            return {}
        x, y = self.epilogue(ins)
        return {"m": m, "n": n, "k": k, "x": x, "y": y}

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        m, n, k = self.mnk(ins)
        return None if m is None or n is None or k is None else Product(1, m, n, k)


@frozen
class FusedGemm(Gemm):
    """Gemm followed by an activation.

    Work:    as Gemm, with the operations of ``activation`` in x and y.
    Source:  ONNX Runtime ContribOperators, FusedGemm.
    """

    mnemonic = "fused_gemm"
    onnx = "com.microsoft::FusedGemm"

    activation: str = ""
    activation_alpha: float = 0.0
    activation_beta: float = 0.0
    activation_gamma: float = 0.0
