"""Gradients of gated activations: one half of a tensor, activated, times the other half."""

from __future__ import annotations

from ...ops.elementwise.gated import GatedActivation
from ...ops.elementwise.gated_grad import GatedActivationGrad
from ..adjoint import Adjoint, Gradients


def gated_activation(at: Adjoint) -> Gradients:
    """Return the gradient from the operand alone; the activation is recomputed, not saved."""
    assert isinstance(at.op, GatedActivation)
    grad_op = GatedActivationGrad(activation=at.op.activation)
    return {0: at.tape.apply(grad_op, at.dy, at.operand(0))}
