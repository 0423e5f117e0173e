"""Gradients of linear attention."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.recurrent.linear_attention import GatedDeltaNet
from ...ops.recurrent.sequence_grad import GatedDeltaNetGrad
from ..adjoint import Adjoint, Gradients


def gated_delta_net(at: Adjoint) -> Gradients:
    """Return the gradients of all operands, from one kernel that computes the states once more."""
    assert isinstance(at.op, GatedDeltaNet)
    return at.in_one_kernel(with_attributes(GatedDeltaNetGrad, at.op))
