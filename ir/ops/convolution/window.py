"""Sliding windows: extents of convolutions and pools, and the inputs that windows read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Poly,
    Shape,
    TensorType,
    Traffic,
    Type,
    ceil_div,
    dim_max,
    dim_min,
    dim_sum,
    element_count,
    storage_bytes,
)
from ...problem.window import SlidingWindow, WindowOperation
from .fitting import Fitting, through

Spatial = tuple[Dim, ...]


def sliding(
    op: Any,
    e: Extents,
    x: Shape,
    y: Shape,
    kernel: Shape,
    form: WindowOperation = WindowOperation.CONVOLUTION,
) -> SlidingWindow:
    """Return the window of a convolution of maps in N, C, spatial order.

    Args:
        op: the operator, of which strides, dilations, pads and groups are read.
        e: values of its letters: n images, c input and k output channels.
        x: shape of the feature maps.
        y: shape of the result.
        kernel: extents of the filters.
        form: kind of convolution.
    """
    rank = len(kernel)
    return SlidingWindow(
        batch=e["n"],
        in_channels=e["c"],
        out_channels=e["k"],
        in_extents=x[2:],
        out_extents=y[2:],
        extents=kernel,
        strides=per_axis(op.strides, rank, 1, "strides"),
        dilations=per_axis(op.dilations, rank, 1, "dilations"),
        pads=pad_pairs(op.pads, rank),
        auto_pad=op.auto_pad,
        groups=op.group,
        form=form,
    )


def per_axis(values: Sequence[int], rank: int, default: int, what: str) -> tuple[int, ...]:
    """Return one number for each spatial axis; an empty attribute means ``default`` everywhere.

    Raises:
        ShapeError: the attribute has another length.
    """
    if not values:
        return (default,) * rank
    if len(values) != rank:
        raise ShapeError(f"{what} has {len(values)} values for {rank} spatial axes")
    return tuple(values)


def pad_pairs(pads: Sequence[int], rank: int) -> tuple[tuple[int, int], ...]:
    """Return pads before and after each spatial axis, from ONNX's begins-then-ends order.

    Raises:
        ShapeError: there are not two for each axis.
    """
    if not pads:
        return ((0, 0),) * rank
    if len(pads) != 2 * rank:
        raise ShapeError(f"pads has {len(pads)} values for {rank} spatial axes")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def windows(
    extent: Dim, span: Dim, stride: int, pad: tuple[int, int], *, ceil: bool, fits: bool = False
) -> Dim:
    """Return the number of windows of ``span``: ``(extent + pads - span)//stride + 1``.

    With ``ceil`` a last, partly filled window is added unless it would start in the trailing pad.
    With ``fits`` symbolic extents hold a window, as a run refuses smaller ones.
    Source: ONNX Conv-22, MaxPool-22 and pull request onnx/onnx#5741.

    Raises:
        ShapeError: the window is so much larger than the padded input that the count is negative.
    """
    before, after = pad
    if not ceil:
        rule = Fitting(before + after - span, stride)
        fitting = (
            through(extent, rule.down) if fits and isinstance(extent, Poly) else rule.of(extent)
        )
    else:
        # min(ceil(room/stride) + 1, ceil((extent + before)/stride)): the sign of `slack`, their
        # difference before the division, decides which, whatever the extent
        slack = after - span + stride
        if isinstance(slack, Poly):
            room = extent + before + after - span
            return dim_min(ceil_div(room, stride) + 1, ceil_div(extent + before, stride))
        added = before + stride - 1 + min(slack, 0)
        fitting = through(extent, lambda d: (d + added) // stride)
    if isinstance(fitting, int) and fitting < 0:
        raise ShapeError(
            f"window of {span} on an extent of {extent} padded by {before} and {after}"
        )
    return fitting


def output_extent(
    extent: Dim,
    span: Dim,
    stride: int,
    pad: tuple[int, int],
    auto_pad: str,
    *,
    ceil: bool = False,
    fits: bool = False,
) -> Dim:
    """Return the extent of the result along one axis, with ``auto_pad`` applied, as `windows`.

    Raises:
        ShapeError: the window is far larger than the padded input.
    """
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return through(extent, lambda d: ceil_div(d, stride))
    used = (0, 0) if auto_pad == "VALID" else pad
    return windows(extent, span, stride, used, ceil=ceil, fits=fits)


def span_of(kernel: Dim, dilation: int) -> Dim:
    """Return the number of positions that a dilated kernel spans."""
    return (kernel - 1) * dilation + 1


def touched(
    extent: Dim, out: Dim, kernel: Dim, stride: int, dilation: int, pad: tuple[int, int]
) -> Dim:
    """Return the number of ``extent`` positions that at least one window reads.

    Exact for numbers; for symbols a lower bound, exact where windows overlap and padding ends
    the row or where they leave gaps and there is no padding.
    """
    before, after = pad
    if out == 0:
        return 0
    if dilation == 1 and isinstance(kernel, int) and kernel >= stride:
        # overlapping windows read one range; less than a stride may stay unread after the last
        if isinstance(extent, Poly) and after >= stride - 1:
            return extent
        return dim_max(dim_min(extent, (out - 1) * stride + kernel - before), 0)
    if not (isinstance(extent, Poly) or isinstance(out, Poly) or isinstance(kernel, Poly)) and (
        out * kernel <= 1 << 16
    ):
        # distinct positions are counted one by one if this is quick, for at most 2^16 taps
        reach = {i * stride + j * dilation - before for i in range(out) for j in range(kernel)}
        return sum(0 <= i < extent for i in reach)
    if dilation == 1 and isinstance(kernel, int):
        # disjoint windows: all their elements, but for at most as many as there are pads
        return dim_max(out * kernel - before - after, 0)
    # at least one position per window, but for windows that lie in the pads
    return dim_max(dim_min(extent, out) - before - after, 0)


def touched_same(
    extent: Dim, out: Dim, kernel: Dim, stride: int, dilation: int, auto_pad: str
) -> Dim:
    """Return `touched` for ``auto_pad`` SAME, whose pads follow from the extents.

    Overlapping windows read every position.
    """
    if dilation == 1 and isinstance(kernel, int) and kernel >= stride:
        return extent
    span = span_of(kernel, dilation)
    if isinstance(extent, Poly) or isinstance(out, Poly) or isinstance(span, Poly):
        # pads of SAME are together at most span - 1
        most = span - 1 if isinstance(span, int) else 0
        return touched(extent, out, kernel, stride, dilation, (most, 0))
    total = max((out - 1) * stride + span - extent, 0)
    half = total // 2
    # an odd pad is larger after the axis for SAME_UPPER, before it for SAME_LOWER
    pad = (half, total - half) if auto_pad == "SAME_UPPER" else (total - half, half)
    return touched(extent, out, kernel, stride, dilation, pad)


def kernel_extents(kernel_shape: Sequence[int], weight: Shape | None) -> Spatial | None:
    """Return kernel extents from the attribute, or else from the weight's axes after both channels.

    Raises:
        ShapeError: the attribute and the weight disagree.
    """
    extents = None if weight is None else weight[2:]
    if not kernel_shape:
        return extents
    if extents is not None and len(extents) != len(kernel_shape):
        raise ShapeError(
            f"kernel_shape {list(kernel_shape)} does not fit a weight of rank {2 + len(extents)}"
        )
    for a, b in zip(kernel_shape, extents or (), strict=False):
        if not isinstance(b, Poly) and a != b:
            raise ShapeError(
                f"kernel_shape {list(kernel_shape)} differs from the weight's {extents}"
            )
    return tuple(kernel_shape)


def result_shape(outs: Sequence[Type]) -> Shape | None:
    """Return the shape of the first result if its rank is known."""
    return outs[0].shape if outs and isinstance(outs[0], TensorType) else None


def of_windows(
    whole: Traffic,
    source: TensorType,
    x: Shape,
    y: Shape,
    axes: Iterable[tuple[Dim, int, int, tuple[int, int]]],
    auto_pad: str,
) -> Traffic:
    """Return traffic without the positions of a feature map that no window reads.

    Args:
        whole: each operand and result once.
        source: type of the feature map.
        x: its shape as N, C, spatial.
        y: shape of the result.
        axes: kernel, stride, dilation and pads of each spatial axis.
        auto_pad: attribute of the operator.
    """
    read = tuple(
        touched_same(d, out, kernel, stride, dilation, auto_pad)
        if auto_pad.startswith("SAME")
        else touched(d, out, kernel, stride, dilation, pad)
        for d, out, (kernel, stride, dilation, pad) in zip(x[2:], y[2:], axes, strict=True)
    )
    if read == x[2:] or source.nbytes is None:
        return whole
    unread = source.nbytes - storage_bytes(element_count((*x[:2], *read)), source.dtype.bits)
    return Traffic(dim_sum((whole.read_bytes, unread * -1)), whole.write_bytes, whole.is_bound)
