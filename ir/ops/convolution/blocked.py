"""ONNX Runtime CPU operators on channels in blocks, the default layout of its optimized models.

A tensor in that layout has the shape [n, c, spatial] with c filled up to whole blocks.
Convolutions and pools on it are those of ``conv``, ``pool`` and ``global_pool``.
"""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Dim,
    Inputs,
    Kind,
    Op,
    Positive,
    Positives,
    Types,
    at_most,
    ceil_div,
    frozen,
    interval,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...traffic import first_taken
from ..resampling.resize import Resampling
from .conv import FusedConv, channels_first, in_layout

BLOCKS = (8, 16)
"""Channels in a block: a vector of f32, as wide as the processor supports."""


def in_blocks(channels: Dim) -> Dim:
    """Return ``channels`` rounded up to whole blocks, bounded where the two block sizes differ."""
    # both are equal for many extents, such as multiples of 16
    least, most = (ceil_div(channels, block) * block for block in BLOCKS)
    return least if least == most else data_extent(most, interval(least)[0] or 0)


@frozen
class ReorderInput(Op):
    """Conversion of channels to blocks; the last block is padded with zeros.

    Shapes:  X[n, c, spatial], or with ``channels_last`` X[n, spatial, c] -> Y[n, k, spatial], k the
             next multiple of the block. A block has 8 or 16 channels, which the model does not
             specify; k is bounded by both where they differ.
    Work:    none.
    Traffic: X once, Y once.
    Source:  onnxruntime nchwc_ops.cc, ReorderInput; MlasNchwcGetBlockSize.
    """

    mnemonic = "reorder_input"
    onnx = "com.microsoft.nchwc::ReorderInput"
    operands = "X"
    kind = Kind.MOVEMENT

    channels_last: int = 0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = channels_first(x.shape, self.channels_last)
        if shape is not None:
            shape = (shape[0], in_blocks(shape[1]), *shape[2:])
        return single(x.dtype, shape)


@frozen
class ReorderOutput(Op):
    """Conversion of channels from blocks; padding of the last block is dropped.

    Shapes:  X[n, k, spatial] -> Y[n, c, spatial], or with ``channels_last`` Y[n, spatial, c], with
             c given by ``channels``.
    Work:    none.
    Traffic: as much of X as Y holds, Y once.
    Source:  onnxruntime nchwc_ops.cc, ReorderOutput.
    """

    mnemonic = "reorder_output"
    onnx = "com.microsoft.nchwc::ReorderOutput"
    operands = "X"
    kind = Kind.MOVEMENT

    channels: Positive = 1
    channels_last: int = 0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape is None or len(x.shape) < 2:
            return single(x.dtype, None)
        # blocks only add channels
        if at_most(self.channels, x.shape[1]) is False:
            raise ShapeError(f"{self.channels} channels out of {x.shape[1]}")
        shape = (x.shape[0], self.channels, *x.shape[2:])
        return single(x.dtype, in_layout(shape, self.channels_last))

    traffic = first_taken


class BlockedConv(FusedConv):
    """FusedConv on channels in blocks; Sum is added before the activation.

    Shapes:  as Conv, with the filters of whole blocks; of few channels X is not in blocks.
    Work:    as FusedConv, including padded channels: they are multiplied.
    Source:  onnxruntime nchwc_ops.cc, NchwcConv.
    """

    mnemonic = "blocked_conv"
    onnx = "com.microsoft.nchwc::Conv"
    operands = "X W B? Sum?"


@frozen
class BlockedUpsample(Resampling):
    """Resampling of channels in blocks by integer factors.

    Shapes:  extent * scale.
    Source:  onnxruntime nchwc_ops.cc, NchwcUpsample.
    """

    mnemonic = "blocked_upsample"
    onnx = "com.microsoft.nchwc::Upsample"
    operands = "X"

    coordinate_transformation_mode: str = "asymmetric"
    mode: str = "nearest"
    scales: Positives = ()

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape is None:
            return (x,)
        if len(self.scales) != len(x.shape):
            raise ShapeError(f"{len(self.scales)} scales for rank {len(x.shape)}")
        axes = zip(x.shape, self.scales, strict=True)
        return single(x.dtype, tuple(d * s for d, s in axes))
