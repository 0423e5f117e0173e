"""Gradients of linear attention."""

from __future__ import annotations

from ...ops.recurrent.linear_attention import GatedDeltaNet
from ...ops.recurrent.sequence_grad import GatedDeltaNetGrad, as_gradient
from ..adjoint import Adjoint, Gradients


def gated_delta_net(at: Adjoint) -> Gradients:
    """Differentiate every operand in one kernel; states are recomputed."""
    assert isinstance(at.op, GatedDeltaNet)
    return at.in_one_kernel(as_gradient(GatedDeltaNetGrad, at.op))
