"""Gradients of pools over windows."""

from __future__ import annotations

from ...op import exactly, with_attributes
from ...ops.convolution.pool import AveragePool, MaxPool
from ...ops.convolution.pool_grad import AveragePoolGrad, MaxPoolGrad
from ..adjoint import Adjoint, Gradients


def max_pool(at: Adjoint) -> Gradients | None:
    """Return the gradient at the saved positions of maxima, 0 elsewhere.

    ATen's backward operator takes the operand as well, for its shape, so that it is saved.
    """
    if not exactly(at.op, MaxPool):
        return None
    extents = at.tape.ints(at.shape())
    return {0: at.tape.apply(MaxPoolGrad(), at.dy, at.result(1), extents, at.operand(0))}


def average_pool(at: Adjoint) -> Gradients | None:
    """Return the gradient distributed over windows, which needs only the operand's shape.

    ATen's backward operator takes the operand for it, so that the operand is saved.
    """
    if not exactly(at.op, AveragePool):
        return None
    ins = (at.dy, at.tape.ints(at.shape()), at.operand(0))
    return {0: at.tape.apply(with_attributes(AveragePoolGrad, at.op), *ins)}
