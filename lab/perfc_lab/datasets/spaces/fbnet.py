"""FBNet's space as HW-NAS-Bench has it for CIFAR-100: 22 blocks, each one of nine.

Source: Wu et al., "FBNet", CVPR 2019, table 1 and figure 3 (block); Li et al., "HW-NAS-Bench",
ICLR 2021, appendix (strides for images of 32×32, a last convolution to 1504 channels). The table
of latencies states operators alone: all else here is as the papers have it.
"""

from __future__ import annotations

from perfc.ir.graph import Module, Value
from perfc.ir.record import record

from .builder import ArchitectureError, NetworkBuilder

STEM, HEAD, CLASSES = 16, 1504, 100
"""Channels of the first and last convolution, and classes of CIFAR-100."""
IMAGE = (3, 32, 32)
"""Image of CIFAR-100."""
LAYERS = (1, 4, 4, 4, 4, 4, 1)
"""Blocks of each stage, with their channels and the stride of the first."""
CHANNELS = (16, 24, 32, 64, 112, 184, 352)
STRIDES = (1, 1, 2, 2, 1, 2, 1)
SKIP = 8
"""Number of the operator that passes its input on."""


@record
class InvertedResidual:
    """An inverted residual: 1×1 to more channels, depthwise, 1×1 back.

    Args:
        window: edge of the depthwise window.
        expansion: inner channels over those of the input.
        groups: groups of both 1×1 convolutions; channels are shuffled between them.
    """

    window: int
    expansion: int
    groups: int = 1


# operators of the space by their number
BLOCKS = (
    InvertedResidual(3, 1),
    InvertedResidual(3, 1, 2),
    InvertedResidual(3, 3),
    InvertedResidual(3, 6),
    InvertedResidual(5, 1),
    InvertedResidual(5, 1, 2),
    InvertedResidual(5, 3),
    InvertedResidual(5, 6),
)


def parse(arch: str) -> tuple[int, ...]:
    """Return the numbers of the blocks, eight for none.

    Raises:
        ArchitectureError: not 22 numbers of blocks.
    """
    words = arch.split(",")
    if len(words) != sum(LAYERS) or not all(w.isdecimal() and int(w) <= SKIP for w in words):
        raise ArchitectureError("no architecture of FBNet's space", where=arch[:120])
    return tuple(map(int, words))


def network(arch: str) -> Module:
    """Return the network of a string.

    Raises:
        ArchitectureError: it is none.
    """
    numbers = iter(parse(arch))
    b = NetworkBuilder(arch, IMAGE)
    x = b.relu(b.batch_norm(b.conv(b.x, STEM, 3)))
    for layers, channels, stride in zip(LAYERS, CHANNELS, STRIDES, strict=True):
        for layer in range(layers):
            x = _block(b, x, next(numbers), channels, 1 if layer else stride)
    return b.module(b.classify(b.relu(b.batch_norm(b.conv(x, HEAD))), CLASSES))


def _block(b: NetworkBuilder, x: Value, number: int, channels: int, stride: int) -> Value:
    """Return a block of the space: an inverted residual, or its input passed on."""
    same = stride == 1 and b.channels(x) == channels
    if number == SKIP:
        # where extents change, passing on is a 1×1 convolution
        return x if same else b.relu(b.batch_norm(b.conv(x, channels, 1, stride)))
    block = BLOCKS[number]
    inner = b.channels(x) * block.expansion
    y = b.relu(b.batch_norm(b.conv(x, inner, groups=block.groups)))
    if block.groups > 1:
        y = b.shuffle(y, block.groups)
    y = b.relu(b.batch_norm(b.conv(y, inner, block.window, stride, inner)))
    y = b.batch_norm(b.conv(y, channels, groups=block.groups))
    return b.add(x, y) if same else y
