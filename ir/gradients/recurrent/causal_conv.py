"""Gradients of causal convolutions."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.recurrent.causal_conv import VarlenCausalConvWithState
from ...ops.recurrent.sequence_grad import VarlenCausalConvWithStateGrad
from ..adjoint import Adjoint, Gradients


def varlen_causal_conv_with_state(at: Adjoint) -> Gradients:
    """Return the gradients of all operands, from one kernel that computes the states once more."""
    assert isinstance(at.op, VarlenCausalConvWithState)
    return at.in_one_kernel(with_attributes(VarlenCausalConvWithStateGrad, at.op))
