"""Elements taken by index: added back into zeros."""

from __future__ import annotations

from ..ops.gather import Gather, GatherElements, GatherND
from ..ops.gather_grad import GatherElementsGrad, GatherGrad, GatherNDGrad
from .adjoint import Adjoint, Gradients


def gather(at: Adjoint) -> Gradients:
    """Rows added where they were taken, as of an embedding."""
    assert isinstance(at.op, Gather)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy)
    return {0: at.tape.apply(GatherGrad(axis=at.op.axis), *ins)}


def gather_elements(at: Adjoint) -> Gradients:
    """Elements added where they were taken; the operand is kept for its shape."""
    assert isinstance(at.op, GatherElements)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy, at.operand(0))
    return {0: at.tape.apply(GatherElementsGrad(axis=at.op.axis), *ins)}


def gather_nd(at: Adjoint) -> Gradients:
    """Slices added where they were taken."""
    assert isinstance(at.op, GatherND)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy)
    return {0: at.tape.apply(GatherNDGrad(batch_dims=at.op.batch_dims), *ins)}
