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
    results = at.tape.several(made, (at.dy, at.operand(0), at.operand(1)), 2)
    return {i: results[i] for i in (0, 1) if at.wants(i)}
