"""Networks of ten families of image models, as their papers build them, with random sizes.

The families are among those of TraPPM's data set (thesis, Table 5.1). Sources: VGG
(arXiv:1409.1556), ResNet (1512.03385), DenseNet (1608.06993), MobileNetV2 (1801.04381), MnasNet
(1807.11626), EfficientNet (1905.11946), ViT (2010.11929), Swin (2103.14030), PoolFormer
(2111.11418), ConvNeXt (2201.03545).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from perfc.ir.graph import Module, Value

from .builder import NetworkBuilder

CLASSES = (10, 100, 1000)
"""Numbers of classes: those of CIFAR-10, CIFAR-100 and ImageNet."""
SIZES = (96, 128, 160, 192, 224, 256, 288, 320)
"""Heights and widths of images: multiples of 32, the factor by which families reduce them."""
Family = Callable[[NetworkBuilder, random.Random], "Value"]
"""Function that appends a network of random sizes and returns its output."""


def network(family: str, seed: int) -> Module:
    """Return a network of a family, the same for the same seed."""
    draw = random.Random(f"{family} {seed}")
    size = draw.choice(SIZES)
    b = NetworkBuilder(f"{family}-{seed}", (3, size, size))
    return b.module(FAMILIES[family](b, draw))


def vgg(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append VGG, stages of 3×3 convolutions, each followed by pooling that halves the maps."""
    x, width, is_normalised = b.x, draw.choice((32, 48, 64, 80)), draw.random() < 0.5
    for stage in range(5):
        for _ in range(draw.randint(1, 4)):
            # the last two stages are equally wide
            x = b.conv(x, width * 2 ** min(stage, 3), 3)
            x = b.relu(b.batch_norm(x) if is_normalised else x)
        x = b.max_pool(x, 2, 2)
    return b.classify(x, draw.choice(CLASSES))


def resnet(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append ResNet, residual blocks, plain or bottlenecks, some with groups."""
    width, is_bottleneck = draw.choice((32, 48, 64, 96)), draw.random() < 0.6
    groups = draw.choice((1, 1, 4, 16)) if is_bottleneck else 1
    x = b.max_pool(b.relu(b.batch_norm(b.conv(b.x, width, 7, 2))), 3, 2, 1)
    for stage in range(4):
        inner = width * 2**stage
        for layer in range(draw.randint(1, 6)):
            # the first layer of a stage halves the maps, except in the first stage
            stride = 2 if stage and not layer else 1
            x = _residual(b, x, inner, stride, groups, is_bottleneck=is_bottleneck)
    return b.classify(x, draw.choice(CLASSES))


def _residual(
    b: NetworkBuilder, x: Value, inner: int, stride: int, groups: int, *, is_bottleneck: bool
) -> Value:
    """Append a residual block: convolutions, 1×1, 3×3 and 1×1 or two 3×3, added to its input."""
    out = inner * (4 if is_bottleneck else 1)
    if is_bottleneck:
        y = b.relu(b.batch_norm(b.conv(x, inner)))
        y = b.relu(b.batch_norm(b.conv(y, inner, 3, stride, groups)))
        y = b.batch_norm(b.conv(y, out))
    else:
        y = b.relu(b.batch_norm(b.conv(x, inner, 3, stride)))
        y = b.batch_norm(b.conv(y, out, 3))
    # an input of another size is added after a 1×1 convolution
    is_same = stride == 1 and b.channels(x) == out
    return b.relu(b.add(y, x if is_same else b.batch_norm(b.conv(x, out, 1, stride))))


def densenet(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append DenseNet, whose layers read all layers before; channels are halved between stages."""
    growth = draw.choice((12, 16, 24, 32, 48))
    x = b.max_pool(b.relu(b.batch_norm(b.conv(b.x, 2 * growth, 7, 2))), 3, 2, 1)
    for stage in range(4):
        for _ in range(draw.randint(2, 12)):
            # a 1×1 bottleneck of four times the growth, then 3×3 to the channels that are added
            y = b.conv(b.relu(b.batch_norm(x)), 4 * growth)
            x = b.concat((x, b.conv(b.relu(b.batch_norm(y)), growth, 3)))
        if stage < 3:
            x = b.average_pool(b.conv(b.relu(b.batch_norm(x)), b.channels(x) // 2), 2, 2)
    return b.classify(b.relu(b.batch_norm(x)), draw.choice(CLASSES))


# method of the builder that appends an activation
Gate = Callable[["Value"], "Value"]


def inverted(
    b: NetworkBuilder,
    x: Value,
    out: int,
    window: int,
    stride: int,
    expansion: int,
    activation: Gate,
    squeezed: int = 0,
) -> Value:
    """Append an inverted residual block: 1×1 to more channels, a depthwise convolution, 1×1 back.

    Args:
        b: builder of the network.
        x: input of the block.
        out: channels of the result.
        window: edge of the depthwise window.
        stride: stride of the depthwise convolution.
        expansion: inner channels over those of the input; 1 for no first convolution.
        activation: method of the builder that appends the activation.
        squeezed: channels of the input over those of squeeze and excitation; 0 for none.
    """
    inner = b.channels(x) * expansion
    y = activation(b.batch_norm(b.conv(x, inner))) if expansion > 1 else x
    y = activation(b.batch_norm(b.conv(y, inner, window, stride, inner)))
    if squeezed:
        gate = activation(b.conv(b.global_pool(y), max(b.channels(x) // squeezed, 1)))
        y = b.mul(y, b.sigmoid(b.conv(gate, inner)))
    y = b.batch_norm(b.conv(y, out))
    return b.add(x, y) if stride == 1 and b.channels(x) == out else y


def mobile(
    b: NetworkBuilder,
    draw: random.Random,
    activation: Gate,
    windows: tuple[int, ...],
    squeezed: int,
) -> Value:
    """Append stages of inverted residuals, of random width and depth.

    ``windows`` are the edges of depthwise windows to choose from; ``squeezed`` is as in `inverted`.
    """
    width = draw.choice((0.35, 0.5, 0.75, 1.0, 1.4))
    x = activation(b.batch_norm(b.conv(b.x, _rounded(32 * width), 3, 2)))
    # channels and strides of EfficientNet-B0's stages; the first stage does not expand channels
    for channels, stride in ((16, 1), (24, 2), (40, 2), (80, 2), (112, 1), (192, 2), (320, 1)):
        window, expansion = draw.choice(windows), 1 if channels == 16 else draw.choice((3, 4, 6))
        for layer in range(draw.randint(1, 4)):
            out = _rounded(channels * width)
            x = inverted(b, x, out, window, 1 if layer else stride, expansion, activation, squeezed)
    x = activation(b.batch_norm(b.conv(x, _rounded(1280 * max(width, 1.0)))))
    return b.classify(x, draw.choice(CLASSES))


def _rounded(channels: float) -> int:
    """Return the nearest multiple of 8, at least 8, as MobileNets round channels."""
    return max(8, int(channels + 4) // 8 * 8)


def mobilenet(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append MobileNetV2; a third of them have hard swish, as MobileNetV3."""
    activation = b.hard_swish if draw.random() < 1 / 3 else b.relu
    return mobile(b, draw, activation, (3,), 0)


def mnasnet(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append MnasNet, with windows of 3 and 5, and half of them with squeeze and excitation."""
    return mobile(b, draw, b.relu, (3, 5), draw.choice((0, 4)))


def efficientnet(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append EfficientNet, with SiLU, and squeeze and excitation in every block."""
    return mobile(b, draw, b.silu, (3, 5), 4)


def attention(b: NetworkBuilder, x: Value, heads: int) -> Value:
    """Append attention over tokens ``[batch, tokens, width]`` in the operators of exporters."""
    tokens, width = b.extents(x)
    # axes of queries, keys and values; keys have their last two exchanged for the product with
    # queries
    q, k, v = (
        b.transpose(b.reshape(b.dense(x, width), tokens, heads, width // heads), 0, 2, *order)
        for order in ((1, 3), (3, 1), (1, 3))
    )
    # scaled by a stored factor
    weights = b.softmax(b.scaled(b.matmul(q, k), 1))
    joined = b.transpose(b.matmul(weights, v), 0, 2, 1, 3)
    return b.dense(b.reshape(joined, tokens, width), width)


def encoder_layer(b: NetworkBuilder, x: Value, heads: int, ratio: int) -> Value:
    """Append attention and two dense layers, each after a normalisation and added to its input."""
    width = b.extents(x)[-1]
    x = b.add(x, attention(b, b.layer_norm(x), heads))
    return b.add(x, b.dense(b.gelu(b.dense(b.layer_norm(x), ratio * width)), width))


def vit(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append ViT, encoder layers over patches as tokens."""
    patch = draw.choice((16, 16, 32))  # 16 twice as often
    heads = draw.choice((3, 4, 6, 8, 12))
    width = heads * draw.choice((32, 64))
    x = _patches(b, patch, width)
    for _ in range(draw.randint(3, 14)):
        x = encoder_layer(b, x, heads, draw.choice((3, 4)))
    return b.gemm(b.mean(b.layer_norm(x), 1), draw.choice(CLASSES))


def _patches(b: NetworkBuilder, patch: int, width: int) -> Value:
    """Append an embedding of patches with positions, and return ``[batch, tokens, width]``."""
    maps = b.patch(b.x, width, patch)
    height, across = b.extents(maps)[1:]
    x = b.transpose(b.reshape(maps, width, height * across), 0, 2, 1)
    return b.add(x, b.weight(1, height * across, width))


def swin(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append Swin, with attention in windows, and tokens merged between stages."""
    heads, depth, window = draw.choice((2, 3, 4)), draw.randint(1, 3), draw.choice((4, 8))
    maps = b.patch(b.x, 32 * heads, 4)
    for stage in range(3):
        width, height, across = b.extents(maps)
        # windows of the random edge, else of the largest edge up to 7 that divides the maps
        side = next(s for s in (window, 7, 6, 5, 4, 3, 2, 1) if not (height % s or across % s))
        for _ in range(depth):
            # windows become a batch of tokens, and maps again after the layer
            x = b.reshape(maps, width, height // side, side, across // side, side)
            x = b.transpose(x, 0, 2, 4, 3, 5, 1)
            x = b.merged(x, side * side, width)
            x = encoder_layer(b, x, heads * 2**stage, 4)
            x = b.merged(x, height // side, across // side, side, side, width)
            maps = b.reshape(b.transpose(x, 0, 5, 1, 3, 2, 4), width, height, across)
        if stage < 2 and min(height, across) > 1:
            maps = b.patch(maps, 2 * width, 2)
    return b.classify(maps, draw.choice(CLASSES))


def poolformer(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append PoolFormer, with pooling in place of attention."""
    width, x = draw.choice((32, 48, 64)), b.x
    for stage in range(4):
        x = b.conv(x, width * 2**stage, 7 if stage == 0 else 3, 4 if stage == 0 else 2)
        for _ in range(draw.randint(1, 6)):
            channels = b.channels(x)
            normal = b.batch_norm(x)
            # the mean of a window less the value itself, whose factor of -1 is stored
            mixed = b.add(b.average_pool(normal, 3, 1, 1), b.scaled(normal, 1))
            x = b.add(x, b.scaled(mixed, channels, 1, 1))
            inner = b.gelu(b.conv(b.batch_norm(x), 4 * channels))
            x = b.add(x, b.scaled(b.conv(inner, channels), channels, 1, 1))
    return b.classify(x, draw.choice(CLASSES))


def convnext(b: NetworkBuilder, draw: random.Random) -> Value:
    """Append ConvNeXt, blocks of a depthwise 7×7 convolution and two dense layers."""
    width, x = draw.choice((32, 48, 64, 96)), b.x
    for stage in range(4):
        x = b.patch(x, width * 2**stage, 2 if stage else 4)
        for _ in range(draw.randint(1, 6)):
            channels = b.channels(x)
            # channels last, as layer normalisation and dense layers work on the last axis
            y = b.transpose(b.conv(x, channels, 7, 1, channels), 0, 2, 3, 1)
            y = b.dense(b.gelu(b.dense(b.layer_norm(y), 4 * channels)), channels)
            x = b.add(x, b.transpose(b.scaled(y, channels), 0, 3, 1, 2))
    return b.classify(x, draw.choice(CLASSES))


FAMILIES: Mapping[str, Family] = {
    "vgg": vgg,
    "resnet": resnet,
    "densenet": densenet,
    "mobilenet": mobilenet,
    "mnasnet": mnasnet,
    "efficientnet": efficientnet,
    "vit": vit,
    "swin": swin,
    "poolformer": poolformer,
    "convnext": convnext,
}
