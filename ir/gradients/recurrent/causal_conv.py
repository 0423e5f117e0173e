"""Gradients of causal convolutions."""

from __future__ import annotations

from ...ops.recurrent.causal_conv import VarlenCausalConvWithState
from ...ops.recurrent.sequence_grad import VarlenCausalConvWithStateGrad, as_gradient
from ..adjoint import Adjoint, Gradients


def varlen_causal_conv_with_state(at: Adjoint) -> Gradients:
    """Differentiate every operand in one kernel; states are recomputed."""
    assert isinstance(at.op, VarlenCausalConvWithState)
    return at.in_one_kernel(as_gradient(VarlenCausalConvWithStateGrad, at.op))
