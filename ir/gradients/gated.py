"""Activations of one half of a tensor that multiply the other half."""

from __future__ import annotations

from ..ops.gated import GatedActivation
from ..ops.gated_grad import GatedActivationGrad
from .adjoint import Adjoint, Gradients


def gated_activation(at: Adjoint) -> Gradients:
    """From the operand; the activation is computed again."""
    assert isinstance(at.op, GatedActivation)
    made = GatedActivationGrad(activation=at.op.activation)
    return {0: at.tape.apply(made, at.dy, at.operand(0))}
