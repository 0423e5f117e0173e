"""Gradients of gathers: added into zeros at the same indices."""

from __future__ import annotations

from ...ops.movement.gather import Gather, GatherElements, GatherND
from ...ops.movement.gather_grad import GatherElementsGrad, GatherGrad, GatherNDGrad
from ..adjoint import Adjoint, Gradients


def gather(at: Adjoint) -> Gradients:
    """Add rows where they were read, as for an embedding."""
    assert isinstance(at.op, Gather)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy)
    return {0: at.tape.apply(GatherGrad(axis=at.op.axis), *ins)}


def gather_elements(at: Adjoint) -> Gradients:
    """Add elements where they were read; the operand is saved for its shape."""
    assert isinstance(at.op, GatherElements)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy, at.operand(0))
    return {0: at.tape.apply(GatherElementsGrad(axis=at.op.axis), *ins)}


def gather_nd(at: Adjoint) -> Gradients:
    """Add slices where they were read."""
    assert isinstance(at.op, GatherND)
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy)
    return {0: at.tape.apply(GatherNDGrad(batch_dims=at.op.batch_dims), *ins)}
