"""Attention by a state."""

from __future__ import annotations

from ..ops.linear_attention import GatedDeltaNet
from ..ops.sequence_grad import GatedDeltaNetGrad, as_gradient
from .adjoint import Adjoint, Gradients


def gated_delta_net(at: Adjoint) -> Gradients:
    """Of every operand in one kernel; states are computed again."""
    assert isinstance(at.op, GatedDeltaNet)
    wanted = [i for i in range(len(at.node.inputs)) if at.wants(i)]
    made = at.tape.several(
        as_gradient(GatedDeltaNetGrad, at.op), (at.dy, *at.node.inputs), max(wanted) + 1
    )
    return {i: made[i] for i in wanted}
