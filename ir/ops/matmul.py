"""Matrix products: multiply–accumulates a matrix unit can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import ShapeError
from ..broadcast import broadcast
from ..cost import Work
from ..dim import Dim, same
from ..graph import Inputs
from ..op import Kind, Op, Types, count, tensor
from ..types import Shape, TensorType


def contract(a: Dim, b: Dim) -> Dim:
    """The extent summed over, known from either side.

    Raises:
        ShapeError: the sides differ.
    """
    if same(a, b) is False:
        raise ShapeError(f"contracted extents differ: {a} and {b}")
    return a if isinstance(a, int) else b


def matmul_shape(a: Shape, b: Shape) -> tuple[Shape, Dim]:
    """Shape of ``a @ b`` as NumPy defines it, and the contracted extent.

    Raises:
        ShapeError: a scalar operand, or extents that do not go together.
    """
    if not a or not b:
        raise ShapeError("a matrix product needs operands of rank 1 or more")
    k = contract(a[-1], b[-2] if len(b) > 1 else b[0])
    batch = broadcast([a[:-2], b[:-2]]) or ()
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    return (*batch, *rows, *columns), k


@dataclass(frozen=True)
class MatMul(Op):
    """Matrix product, batched over the leading axes.

    Shapes:  A[b, m, k], B[b, k, n] -> Y[b, m, n]; vectors drop their axis; b broadcasts.
    Work:    mac = e * k, with e the elements of Y.
    Traffic: A, B and Y once.
    Source:  ONNX MatMul-13, numpy.matmul.
    """

    mnemonic = "matmul"
    onnx = ("MatMul",)
    operands = ("A", "B")
    kind = Kind.MATMUL
    formulas = {"mac": "e*k"}

    def infer(self, ins: Inputs) -> Types:
        a, b = tensor(ins, 0), tensor(ins, 1)
        if a.shape is None or b.shape is None:
            return (TensorType(a.dtype, None),)
        return (TensorType(a.dtype, matmul_shape(a.shape, b.shape)[0]),)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        e, k = self.extents(ins, outs).values()
        return Work(mac=e * k)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        a = tensor(ins, 0).shape
        return {"e": count(outs[0]), "k": a[-1] if a else 0}
