"""Transposed convolutions: a convolution the other way round."""

from __future__ import annotations

from ..graph import Value
from ..ops.conv import Conv
from ..ops.conv_grad import ConvFilterGrad
from ..ops.conv_transpose import ConvTranspose
from .adjoint import Adjoint, Gradients
from .tape import shape_of


def conv_transpose(at: Adjoint) -> Gradients:
    """A convolution of the gradient for the maps, a correlation with it for the filters."""
    op, tape, dy = at.op, at.tape, at.dy
    if (
        not isinstance(op, ConvTranspose)
        or not op.is_exactly(ConvTranspose)
        or op.auto_pad != "NOTSET"
        or op.output_shape
    ):
        raise at.error("its pads are not stated")
    settings = {
        n: getattr(op, n) for n in ("dilations", "group", "kernel_shape", "pads", "strides")
    }
    found: dict[int, Value | None] = {}
    if at.wants(0):
        found[0] = tape.apply(Conv(**settings), dy, at.operand(1))
    if at.wants(1):
        extents = tape.ints(at.shape(1))
        found[1] = tape.apply(ConvFilterGrad(**settings), at.operand(0), dy, extents)
    if at.wants(2):
        found[2] = tape.sum(dy, (0, *range(2, len(shape_of(dy)))))
    return found
