"""Gradients of pools over windows."""

from __future__ import annotations

from ...op import exactly, with_attributes
from ...ops.convolution.pool import AveragePool, MaxPool
from ...ops.convolution.pool_grad import AveragePoolGrad, MaxPoolGrad
from ..adjoint import Adjoint, Gradients


def max_pool(at: Adjoint) -> Gradients | None:
    """Scatter by the saved indices; the operand is saved for its shape."""
    if not exactly(at.op, MaxPool):
        return None
    extents = at.tape.ints(at.shape())
    return {0: at.tape.apply(MaxPoolGrad(), at.dy, at.result(1), extents, at.operand(0))}


def average_pool(at: Adjoint) -> Gradients | None:
    """Distribute by the shape alone, for which the operand is saved."""
    if not exactly(at.op, AveragePool):
        return None
    ins = (at.dy, at.tape.ints(at.shape()), at.operand(0))
    return {0: at.tape.apply(with_attributes(AveragePoolGrad, at.op), *ins)}
