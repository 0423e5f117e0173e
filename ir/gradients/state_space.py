"""State spaces."""

from __future__ import annotations

from ..ops.sequence_grad import StateSpaceScanGrad, as_gradient
from ..ops.state_space import StateSpaceScan
from .adjoint import Adjoint, Gradients


def state_space_scan(at: Adjoint) -> Gradients:
    """Of every operand in one kernel; states are computed again."""
    assert isinstance(at.op, StateSpaceScan)
    return at.in_one_kernel(as_gradient(StateSpaceScanGrad, at.op))
