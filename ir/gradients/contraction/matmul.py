"""Gradients of matrix products."""

from __future__ import annotations

from ... import Value, element_count
from ...op import exactly
from ...ops.contraction.matmul import FusedMatMul, Gemm, MatMul
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def matmul(at: Adjoint) -> Gradients:
    """Return ``dY @ B^T`` and ``A^T @ dY``, summed over the axes that an operand broadcasts."""
    if not at.op.is_exactly(MatMul, FusedMatMul):
        raise at.error("what is fused to the product has no rule")
    tape, a, b = at.tape, at.operand(0), at.operand(1)
    is_a_transposed, is_b_transposed = (bool(getattr(at.op, f"trans{side}", 0)) for side in "AB")
    if getattr(at.op, "transBatchA", 0) or getattr(at.op, "transBatchB", 0):
        raise at.error("batches are transposed")
    dy = tape.scaled(at.dy, getattr(at.op, "alpha", 1.0))
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    # a vector is a matrix with one row (A) or one column (B)
    a = tape.reshape(a, (1, *shape_of(a))) if rank_a == 1 else a
    b = tape.reshape(b, (*shape_of(b), 1)) if rank_b == 1 else b
    if rank_a == 1 or rank_b == 1:
        # the result has no axis for the single row or column of a vector: dY gets it back
        extents = shape_of(dy)
        rows: tuple[object, ...] = (1,) if rank_a == 1 else ()
        leading = extents if rank_b == 1 else extents[:-1]
        columns = (1,) if rank_b == 1 else extents[-1:]
        dy = tape.reshape(dy, (*leading, *rows, *columns))  # type: ignore[arg-type]
    gradients: dict[int, Value | None] = {}
    if at.wants(0):
        gradient = _left(at, dy, b, transposed_a=is_a_transposed, transposed_b=is_b_transposed)
        gradients[0] = tape.reshape(tape.sum_to(gradient, shape_of(a)), at.shape(0))
    if at.wants(1):
        if len(shape_of(b)) == 2 and len(shape_of(a)) > 2 and not is_a_transposed:
            gradient = _of_shared(at, a, dy, transposed=is_b_transposed)
        else:
            gradient = _right(at, a, dy, transposed_a=is_a_transposed, transposed_b=is_b_transposed)
        gradients[1] = tape.reshape(tape.sum_to(gradient, shape_of(b)), at.shape(1))
    return gradients


fused_matmul = matmul


def _left(at: Adjoint, dy: Value, b: Value, *, transposed_a: bool, transposed_b: bool) -> Value:
    """Return dA: ``dY @ B^T``, or its transpose ``B @ dY^T`` if operand 0 is A^T.

    If operand 1 is B^T, it is read without a transposition.
    """
    if transposed_a:
        return at.tape.apply(FusedMatMul(transA=int(transposed_b), transB=1), b, dy)
    return at.tape.apply(FusedMatMul(transB=int(not transposed_b)), dy, b)


def _right(at: Adjoint, a: Value, dy: Value, *, transposed_a: bool, transposed_b: bool) -> Value:
    """Return dB: ``A^T @ dY``, or its transpose ``dY^T @ A`` if operand 1 is B^T.

    If operand 0 is A^T, it is read without a transposition.
    """
    if transposed_b:
        return at.tape.apply(FusedMatMul(transA=1, transB=int(transposed_a)), dy, a)
    return at.tape.apply(FusedMatMul(transA=int(not transposed_a)), a, dy)


def _of_shared(at: Adjoint, a: Value, dy: Value, *, transposed: bool) -> Value:
    """Return dB of a matrix that the whole batch shares.

    Rows of all batches form one long axis, so that one product also sums over the batch.
    """
    tape, k, n = at.tape, shape_of(a)[-1], shape_of(dy)[-1]
    rows = element_count(shape_of(dy)[:-1])
    flat_a, flat_dy = tape.reshape(a, (rows, k)), tape.reshape(dy, (rows, n))
    first, second = (flat_dy, flat_a) if transposed else (flat_a, flat_dy)
    return tape.apply(Gemm(transA=1), first, second)


def gemm(at: Adjoint) -> Gradients:
    """Return the gradients of ``alpha A B + beta C``: two products, and dY summed to C's shape.

    As in `matmul`, a product that gives the transpose of a gradient has its operands exchanged.
    """
    op, tape = at.op, at.tape
    if not exactly(op, Gemm):
        raise at.error("what is fused to the product has no rule")
    dy, a, b = at.dy, at.operand(0), at.operand(1)
    gradients: dict[int, Value | None] = {}
    if at.wants(0):
        product = (
            Gemm(op.alpha, transA=op.transB, transB=1)
            if op.transA
            else Gemm(op.alpha, transB=int(not op.transB))
        )
        gradients[0] = tape.apply(product, *((b, dy) if op.transA else (dy, b)))
    if at.wants(1):
        product = (
            Gemm(op.alpha, transA=1, transB=op.transA)
            if op.transB
            else Gemm(op.alpha, transA=int(not op.transA))
        )
        gradients[1] = tape.apply(product, *((dy, a) if op.transB else (a, dy)))
    if at.wants(2):
        gradients[2] = tape.scaled(tape.sum_to(dy, at.shape(2)), op.beta)
    return gradients
