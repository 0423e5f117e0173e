"""Gradients of TopK."""

from __future__ import annotations

from ...op import exactly
from ...ops.movement.gather_grad import GatherElementsGrad
from ...ops.movement.select import TopK
from ..adjoint import Adjoint, Gradients


def top_k(at: Adjoint) -> Gradients | None:
    """Return the gradient of the selected elements, put at their saved indices; 0 for all others.

    Subclasses select in other ways and have no rule.
    """
    if not exactly(at.op, TopK):
        return None
    ins = (at.tape.ints(at.shape()), at.result(1), at.dy)
    return {0: at.tape.apply(GatherElementsGrad(axis=at.op.axis), *ins)}
