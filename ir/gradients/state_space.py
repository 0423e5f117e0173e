"""State spaces."""

from __future__ import annotations

from ..ops.sequence_grad import StateSpaceScanGrad, as_gradient
from ..ops.state_space import StateSpaceScan
from .adjoint import Adjoint, Gradients


def state_space_scan(at: Adjoint) -> Gradients:
    """Of every operand in one kernel; states are computed again."""
    assert isinstance(at.op, StateSpaceScan)
    wanted = [i for i in range(len(at.node.inputs)) if at.wants(i)]
    made = at.tape.several(
        as_gradient(StateSpaceScanGrad, at.op), (at.dy, *at.node.inputs), max(wanted) + 1
    )
    return {i: made[i] for i in wanted}
