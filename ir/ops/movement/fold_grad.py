"""Gradient of Col2Im: the patches of the gradient of the image."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ... import Inputs, Naturals, Positives, Results, TensorType, Types, frozen, tensor
from ..convolution.conv import Conv
from ..convolution.conv_grad import like_gradient
from .movement import Movement

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class Col2ImGrad(Movement):
    """Patches of an image as columns.

    Shapes:  dY[n, c, d...], the shape of the columns -> dX[n, c * prod(block_shape), l].
    Work:    none.
    Traffic: dY once, dX once.
    Source:  PyTorch, im2col, the backward pass of col2im.
    """

    mnemonic = "col2im_grad"
    operands = "dY shape"
    block_shape: Positives = ()
    dilations: Positives | None = None
    pads: Naturals | None = None
    strides: Positives | None = None

    # the element type of dY in the shape that operand ``shape`` holds
    infer = like_gradient

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        """Return the patches as a depthwise convolution, with a filter per position of a patch."""
        dy, (out, *_) = ins[0], outs
        assert dy is not None
        assert isinstance(out, TensorType)
        shape = tensor(ins, 0).shape or ()
        channels, size = shape[1], prod(self.block_shape)
        assert isinstance(channels, int)
        # filter i of a channel is 1 at position i of a patch, 0 elsewhere: it copies that element
        ones = tuple(
            float(i == j) for _ in range(channels) for i in range(size) for j in range(size)
        )
        filters = tape.constant(ones, (channels * size, 1, *self.block_shape), out.dtype)
        rank = len(self.block_shape)
        patches = Conv(
            group=channels,
            kernel_shape=self.block_shape,
            dilations=self.dilations or (1,) * rank,
            pads=self.pads or (0,) * (2 * rank),
            strides=self.strides or (1,) * rank,
        )
        return (tape.reshape(tape.apply(patches, dy, filters), out.shape or ()),)
