"""Gradients of resampling."""

from __future__ import annotations

from ... import known
from ...ops.resampling.resize import Resize, Upsample
from ...ops.resampling.resize_grad import ResizeGrad
from ..adjoint import Adjoint, Gradients


def resize(at: Adjoint) -> Gradients:
    """Return the gradient of the operand, which needs the shape of the operand alone."""
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
        # scales are operand 2, but 1 before version 11, which had no region of interest before them
        _scales(at, 1 if op.version < 11 else 2),
    )
    return {0: at.tape.apply(grad_op, at.dy, at.tape.ints(at.shape()))}


def upsample(at: Adjoint) -> Gradients:
    """Return the gradient of `Upsample`, a `Resize` with fixed rules for coordinates."""
    assert isinstance(at.op, Upsample)
    # as ONNX converts Upsample to Resize: a source position is floor(position / scale)
    grad_op = ResizeGrad(at.op.mode, "asymmetric", "floor", scales=_scales(at, 1))
    return {0: at.tape.apply(grad_op, at.dy, at.tape.ints(at.shape()))}


def _scales(at: Adjoint, index: int) -> tuple[float, ...]:
    """Return the factors of the extents in an operand; () if any is unknown.

    Without factors the operator takes them from the extents of operand and result.
    """
    content = known(at.node.inputs, index)
    items = () if content is None else content.items
    numbers = tuple(float(s) for s in items if isinstance(s, int | float))
    return numbers if len(numbers) == len(items) else ()
