"""Gradients of resampling."""

from __future__ import annotations

from ... import known
from ...ops.resampling.resize import Resize, Upsample
from ...ops.resampling.resize_grad import ResizeGrad
from ..adjoint import Adjoint, Gradients


def resize(at: Adjoint) -> Gradients:
    """Differentiate from the shape alone."""
    op = at.op
    assert isinstance(op, Resize)
    if op.antialias or op.exclude_outside or op.axes is not None:
        raise at.error("filters wider than their neighbours, or some axes alone")
    if op.coordinate_transformation_mode == "tf_crop_and_resize":
        raise at.error("a part of the operand")
    grad_op = ResizeGrad(
        op.mode,
        op.coordinate_transformation_mode,
        op.nearest_mode,
        op.cubic_coeff_a,
        # before version 11 there was no operand for a region of interest
        _scales(at, 1 if op.version < 11 else 2),
    )
    return {0: at.tape.apply(grad_op, at.dy, at.tape.ints(at.shape()))}


def upsample(at: Adjoint) -> Gradients:
    """Differentiate the older operator in the same way."""
    assert isinstance(at.op, Upsample)
    grad_op = ResizeGrad(at.op.mode, "asymmetric", "floor", scales=_scales(at, 1))
    return {0: at.tape.apply(grad_op, at.dy, at.tape.ints(at.shape()))}


def _scales(at: Adjoint, index: int) -> tuple[float, ...]:
    """Return the factors of the extents in an operand; empty where they are unknown."""
    content = known(at.node.inputs, index)
    items = () if content is None else content.items
    numbers = tuple(float(s) for s in items if isinstance(s, int | float))
    return numbers if len(numbers) == len(items) else ()
