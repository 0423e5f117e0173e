"""Work of convolutions, of their gradients and of pools, from the window that they slide.

`convolved`, `gradients` and `pooled` are cost models of `costs`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from perfc.ir import Dim, Numbers
from perfc.ir.ops import touched
from perfc.ir.problem import SlidingWindow
from perfc.ir.problem.window import MOST_GAIN, WindowOperation
from perfc.ir.tensors.types import BY_CODE

from .call_work import CallWork, counts_of
from .operands import CallOperands, OperandTensor

_DIRECT = re.compile(
    r"implicit|fprop|dgrad|wgrad|igemm|xdl|im2col|scudnn_\d|conv2d_grouped|depthwise|naive_conv",
    re.IGNORECASE,
)
"""Kernels of convolutions that do all multiplications, unlike Winograd's and FFTs."""
_FILTERED = re.compile(r"winograd|fft|f3x2|f2x3|sp3", re.IGNORECASE)
"""Kernels of convolutions that transform their operands first, and so save multiplications."""


def window_of(o: CallOperands, *, is_pool: bool = False) -> SlidingWindow:
    """Return the window of a convolution or a pool."""
    # i image, k filter, K its extents, S stride, P padding, L dilation, T transposed, G groups
    image = o.one("i")
    batch, channels, *spatial = image.sizes
    rank = len(spatial)
    # a pool has no filters: its window stands at the place of theirs
    filters = (0, 0, *o.extents("K", rank)) if is_pool else o.one("k").sizes
    is_transposed = bool(o.value("T"))
    # PyTorch: a pool without a stride moves by its size
    stride = filters[2:] if o.value("S") == () else o.extents("S", rank)
    pad = o.extents("P", rank)
    dilation = o.extents("L", rank) if "L" in o.signature.roles else (1,) * rank
    groups = 1 if is_pool or "G" not in o.signature.roles else o.extents("G", 1)[0]
    out_extents = []
    for size, taps, step, p, gap in zip(spatial, filters[2:], stride, pad, dilation, strict=True):
        span = gap * (taps - 1) + 1  # from the first tap to the last
        forward = (size + 2 * p - span) // step + 1
        out_extents.append((size - 1) * step - 2 * p + span if is_transposed else forward)
    # filters are [out, in / groups, ...], of transposed convolutions [in, out / groups, ...]
    out_channels = channels if is_pool else filters[1] * groups if is_transposed else filters[0]
    form = WindowOperation.TRANSPOSED if is_transposed else WindowOperation.CONVOLUTION
    return SlidingWindow(
        batch,
        channels,
        out_channels,
        in_extents=tuple(spatial),
        out_extents=tuple(out_extents),
        extents=tuple(filters[2:]),
        strides=stride,
        dilations=dilation,
        pads=tuple((p, p) for p in pad),
        groups=groups,
        form=WindowOperation.POOL if is_pool else form,
    )


def numbers(extents: Iterable[Dim]) -> tuple[int, ...]:
    """Return extents as numbers; those of a trace depend on no symbol."""
    return tuple(e for e in extents if isinstance(e, int))


def seen(image: OperandTensor, window: SlidingWindow) -> OperandTensor:
    """Return the part of an image that windows read: strides may skip positions."""
    axes = zip(
        window.in_extents,
        window.out_extents,
        window.extents,
        window.strides,
        window.dilations,
        window.pads,
        strict=True,
    )
    spatial = numbers(touched(*axis) for axis in axes)
    # of a transposed convolution all; an expanded image has fewer elements in memory already
    if window.is_transposed or image.held is not None:
        return image
    return OperandTensor(image.dtype, (*image.sizes[:2], *spatial))


def convolved(o: CallOperands) -> CallWork:
    """Return the work of a convolution."""
    from perfc.analyzers.features.lowering import convolution

    image, filters, window = o.one("i"), o.one("k"), window_of(o)
    extents = (window.batch, window.out_channels, *window.out_extents)
    result = OperandTensor(image.dtype, numbers(extents))
    # each element of the result, or of the image of a transposed convolution, meets the taps of one
    # filter in the channels of its group
    source = image if window.is_transposed else result
    mac = float(source.numel * math.prod(filters.sizes[1:]))
    added = o.with_roles("r")
    counts = counts_of(
        [seen(image, window), filters, *added],
        [result],
        mac=mac,
        floor_mac=mac / gain_of(o, window.winograd_gain),
        alu=float(result.numel * len(added)),
    )
    return CallWork(counts, image.dtype, "convolution", convolution(window, Numbers({})))


def gradients(o: CallOperands) -> CallWork:
    """Return the work of the gradients of a convolution that its mask names, else of the first.

    Neither strides nor groups need be recorded: the filters meet each element of the result of a
    convolution, or each of the image of a transposed one.
    """
    grad, image, filters = o.one("g"), o.one("i"), o.one("k")
    # g gradient of the result, M which gradients are computed
    mask, stride, taps = o.value("M"), o.value("S"), math.prod(filters.sizes[2:])
    # the end whose channels are the first extent of the filters, or the smaller one of both
    ends = [t for t in (grad, image) if t.sizes[1] == filters.sizes[0]]
    source = min((t.numel for t in ends), default=0)
    positions = grad.numel // grad.sizes[1]
    # windows that do not touch read no more of the image than their taps
    part = OperandTensor(image.dtype, (min(image.numel, positions * taps * image.sizes[1]),))
    is_sparse = isinstance(stride, tuple) and any(isinstance(e, int) and e > 1 for e in stride)
    # without taps to share, or with strides, minimal filtering has no gain
    most_gain = 1.0 if taps == 1 or is_sparse else MOST_GAIN ** len(filters.sizes[2:])
    wanted = mask if isinstance(mask, tuple) and len(mask) > 1 else (1, 0)
    # what each gradient reads besides ``grad``, and what it writes
    pairs = ((filters, image), (part, filters))
    chosen = [pair for pair, flag in zip(pairs, wanted, strict=False) if flag]
    mac = float(len(chosen) * source * math.prod(filters.sizes[1:]))
    counts = counts_of(
        [grad, *(read for read, _ in chosen)],
        [written for _, written in chosen],
        mac=mac,
        floor_mac=mac / gain_of(o, most_gain),
    )
    return CallWork(counts, image.dtype)


def gain_of(o: CallOperands, gain: float) -> float:
    """Return the factor by which a convolution's kernels can reduce its products.

    ``gain`` is that of minimal filtering. An FFT may save more, so that no bound is left.
    """
    names = " ".join(o.kernels)
    if _FILTERED.search(names):
        return math.inf if "fft" in names.lower() else gain
    return 1.0 if _DIRECT.search(names) else gain


def pooled(o: CallOperands) -> CallWork:
    """Return the work of a pool."""
    image, window = o.one("i"), window_of(o, is_pool=True)
    sizes = (*image.sizes[:2], *numbers(window.out_extents))
    results = [
        OperandTensor(BY_CODE[code] if code else image.dtype, sizes)
        for code in (text.partition(":")[2] for text in o.signature.results)
    ]
    numel = results[0].numel * math.prod(window.static_extents)
    counts = counts_of([seen(image, window)], results, alu=float(numel))
    return CallWork(counts, image.dtype)
