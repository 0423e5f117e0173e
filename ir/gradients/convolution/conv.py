"""Gradients of convolutions."""

from __future__ import annotations

from ...op import exactly, with_attributes
from ...ops.convolution.conv import Conv
from ...ops.convolution.conv_grad import ConvDataGrad, ConvFilterGrad
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def conv(at: Adjoint) -> Gradients:
    """Return the gradients of maps, filters and bias.

    They are a transposed convolution for maps, a correlation of maps with the gradient for filters,
    and sums for the bias.
    """
    op, tape, dy, x = at.op, at.tape, at.dy, at.operand(0)
    if not exactly(op, Conv):
        raise at.error("another convolution than Conv")
    gradients: Gradients = {}
    if at.wants(0):
        extents = tape.ints(at.shape(0))  # the extents of maps do not follow from those of dY
        gradients = {
            0: tape.apply(with_attributes(ConvDataGrad, op), dy, at.operand(1), extents, x)
        }
    if at.wants(1):
        extents = tape.ints(at.shape(1))
        gradients = {
            **gradients,
            1: tape.apply(with_attributes(ConvFilterGrad, op), dy, x, extents),
        }
    # the bias of a channel is added at every position of every sample
    if at.wants(2):
        rank = len(shape_of(dy))
        gradients = {**gradients, 2: tape.sum(dy, (0, *range(2, rank)))}
    return gradients
