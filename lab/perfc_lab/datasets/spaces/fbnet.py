"""FBNet's search space, as HW-NAS-Bench has it for CIFAR-100: 22 blocks, each of nine operators.

Source: Wu et al., "FBNet", CVPR 2019, table 1 and figure 3 (block); Li et al., "HW-NAS-Bench",
ICLR 2021, appendix (strides for images of 32×32, a last convolution to 1504 channels). The table of
latencies has the operators alone; everything else follows the papers.
"""

from __future__ import annotations

from perfc.ir.graph import Module, Value
from perfc.ir.record import record

from .builder import ArchitectureError, NetworkBuilder

STEM, HEAD, CLASSES = 16, 1504, 100
"""Channels of the first and of the last convolution, and classes of CIFAR-100."""
IMAGE = (3, 32, 32)
"""Image of CIFAR-100."""
LAYERS = (1, 4, 4, 4, 4, 4, 1)
"""Number of blocks of each stage."""
CHANNELS = (16, 24, 32, 64, 112, 184, 352)
"""Channels of each stage."""
STRIDES = (1, 1, 2, 2, 1, 2, 1)
"""Stride of the first block of each stage."""
SKIP = 8
"""Number of the operator that returns its input."""


@record
class InvertedResidual:
    """An operator of the space, an inverted residual: 1×1 to more channels, depthwise, 1×1 back.

    Args:
        window: edge of the depthwise window.
        expansion: inner channels over those of the input.
        groups: groups of both 1×1 convolutions; with several, channels are shuffled after the
            first.
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
    """Return the number of the operator of each block.

    Raises:
        ArchitectureError: the text is not 22 numbers of operators.
    """
    words = arch.split(",")
    if len(words) != sum(LAYERS) or not all(w.isdecimal() and int(w) <= SKIP for w in words):
        raise ArchitectureError("no architecture of FBNet's space", where=arch[:120])
    return tuple(map(int, words))


def network(arch: str) -> Module:
    """Return the network of an architecture as text, ``0,3,8,…``.

    Raises:
        ArchitectureError: it is no architecture of the space.
    """
    numbers = iter(parse(arch))
    b = NetworkBuilder(arch, IMAGE)
    x = b.relu(b.batch_norm(b.conv(b.x, STEM, 3)))
    for layers, channels, stride in zip(LAYERS, CHANNELS, STRIDES, strict=True):
        for layer in range(layers):
            x = _block(b, x, next(numbers), channels, 1 if layer else stride)
    return b.module(b.classify(b.relu(b.batch_norm(b.conv(x, HEAD))), CLASSES))


def _block(b: NetworkBuilder, x: Value, number: int, channels: int, stride: int) -> Value:
    """Append the block of an operator: an inverted residual, or nothing."""
    is_same = stride == 1 and b.channels(x) == channels
    if number == SKIP:
        # if the size changes, a 1×1 convolution takes the place of nothing
        return x if is_same else b.relu(b.batch_norm(b.conv(x, channels, 1, stride)))
    block = BLOCKS[number]
    inner = b.channels(x) * block.expansion
    y = b.relu(b.batch_norm(b.conv(x, inner, groups=block.groups)))
    if block.groups > 1:
        y = b.shuffle(y, block.groups)
    y = b.relu(b.batch_norm(b.conv(y, inner, block.window, stride, inner)))
    y = b.batch_norm(b.conv(y, channels, groups=block.groups))
    return b.add(x, y) if is_same else y
