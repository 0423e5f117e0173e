"""Gradients of grid sampling."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.resampling.sample_grad import GridSampleGrad
from ..adjoint import Adjoint, Gradients


def grid_sample(at: Adjoint) -> Gradients:
    """Return the gradients of operand and grid, by one operator."""
    return at.in_one_kernel(with_attributes(GridSampleGrad, at.op))
