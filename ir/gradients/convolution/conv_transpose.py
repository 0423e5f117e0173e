"""Gradients of transposed convolutions."""

from __future__ import annotations

from ... import Value
from ...op import exactly
from ...ops.convolution.conv import Conv
from ...ops.convolution.conv_grad import ConvFilterGrad
from ...ops.convolution.conv_transpose import ConvTranspose
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def conv_transpose(at: Adjoint) -> Gradients:
    """Return the gradients of maps, filters and bias.

    They are a convolution of dY for maps, a correlation of maps with dY for filters, and sums for
    the bias.
    """
    op, tape, dy = at.op, at.tape, at.dy
    if not exactly(op, ConvTranspose) or op.auto_pad != "NOTSET" or op.output_shape:
        raise at.error("its pads are not given")
    settings = {
        n: getattr(op, n) for n in ("dilations", "group", "kernel_shape", "pads", "strides")
    }
    gradients: dict[int, Value | None] = {}
    if at.wants(0):
        gradients[0] = tape.apply(Conv(**settings), dy, at.operand(1))
    if at.wants(1):
        extents = tape.ints(at.shape(1))
        # maps and dY are exchanged, as the forward pass is the reverse of a convolution
        gradients[1] = tape.apply(ConvFilterGrad(**settings), at.operand(0), dy, extents)
    if at.wants(2):
        gradients[2] = tape.sum(dy, (0, *range(2, len(shape_of(dy)))))
    return gradients
