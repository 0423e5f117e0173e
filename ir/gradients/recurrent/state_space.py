"""Gradients of state-space models."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.recurrent.sequence_grad import StateSpaceScanGrad
from ...ops.recurrent.state_space import StateSpaceScan
from ..adjoint import Adjoint, Gradients


def state_space_scan(at: Adjoint) -> Gradients:
    """Return the gradients of all operands, from one kernel that computes the states once more."""
    assert isinstance(at.op, StateSpaceScan)
    return at.in_one_kernel(with_attributes(StateSpaceScanGrad, at.op))
