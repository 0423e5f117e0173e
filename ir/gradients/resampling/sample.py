"""Gradients of grid sampling."""

from __future__ import annotations

from ...ops.resampling.sample import GridSample
from ...ops.resampling.sample_grad import GridSampleGrad
from ..adjoint import Adjoint, Gradients


def grid_sample(at: Adjoint) -> Gradients:
    """Differentiate operand and grid in one operator."""
    op = at.op
    assert isinstance(op, GridSample)
    made = GridSampleGrad(op.align_corners, op.mode, op.padding_mode)
    return at.in_one_kernel(made)
