"""Extents of a kernel as a matrix product: rows, columns, depth, groups, window; and its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perfc.ir import Dim, Kind, TensorType, Value
from perfc.ir.problem import Attention, Product, Rows, SlidingWindow, Span

from .launch_kind import LaunchKind

if TYPE_CHECKING:
    from perfc.passes.fusion.kernel import Kernel

IMAGE_CHANNELS = 4
"""Maximum channels of an image (with an alpha channel); a convolution of at most so many is the
first of a network."""


class Geometry(NamedTuple):
    """A kernel as ``groups`` products ``[m, k] × [k, n]``; zeros for other kernels.

    Args:
        m: rows of each product.
        n: columns.
        k: depth; None if it follows from the multiply–accumulates.
        groups: number of products.
        window: elements of the filter or pooling window.
        stride: product of the strides of all axes.
    """

    m: Dim = 0
    n: Dim = 0
    k: Dim | None = 0
    groups: Dim = 1
    window: Dim = 1
    stride: int = 1


def shape(v: Value | None) -> tuple[Dim, ...]:
    """Return the extents of a tensor; () if its rank is unknown."""
    if v is None or not isinstance(v.type, TensorType):
        return ()
    return v.type.shape or ()


def geometry(kernel: Kernel) -> Geometry:
    """Return the extents of a kernel as matrix products; the default for other kernels."""
    match kernel.problem:
        case SlidingWindow() as w if kernel.kind is Kind.POOL:
            return Geometry(window=w.taps, stride=w.stride)
        case SlidingWindow() as w:
            # a transposed convolution sums over channels and scatters over its window
            depth = w.depth if w.is_transposed else w.depth * w.taps
            return Geometry(w.positions, w.filters, depth, w.groups, w.taps, w.stride)
        case Product() as p:
            return Geometry(p.rows, p.n, p.k, p.products)
        # the scores of each head; their depth follows from the counts
        case Attention() as a:
            return Geometry(a.query_len, a.kv_len, None, a.batch * a.heads)
        case _:
            return Geometry()


def span_of(kernel: Kernel) -> Span:
    """Return the part of a tensor over which a normalization computes its statistics.

    The default, the last axes, is that of a kernel without a problem.
    """
    return kernel.problem.span if isinstance(kernel.problem, Rows) else Span.AXES


def kind_of(kernel: Kernel, extents: Geometry, channels: float) -> LaunchKind:
    """Return the kind of launch of a kernel; ``channels`` are those of its largest input."""
    match kernel.kind:
        # the order decides: a stem may be depthwise, and a depthwise convolution is grouped
        case Kind.CONV if channels <= IMAGE_CHANNELS:
            return LaunchKind.STEM
        case Kind.CONV if isinstance(kernel.problem, SlidingWindow) and kernel.problem.is_depthwise:
            return LaunchKind.DEPTHWISE
        case Kind.CONV if extents.groups != 1:
            return LaunchKind.GROUPED
        case Kind.CONV:
            return LaunchKind.POINTWISE if extents.window == 1 else LaunchKind.CONVOLUTION
        case Kind.MATMUL:
            return LaunchKind.MATMUL if extents.groups == 1 else LaunchKind.BATCHED_MATMUL
        case Kind.NORMALIZATION:
            return NORMALIZATIONS[span_of(kernel)]
        case Kind.ELEMENTWISE if kernel.pattern == "activation":
            return LaunchKind.ACTIVATION
        case kind:
            return PLAIN.get(kind, LaunchKind.OTHER)


NORMALIZATIONS = {
    Span.AXES: LaunchKind.LAYER_NORM,
    Span.GROUP: LaunchKind.GROUP_NORM,
    Span.CHANNEL: LaunchKind.BATCH_NORM,
}
"""Kinds of normalizations by the span of their statistics."""
PLAIN = {
    Kind.ATTENTION: LaunchKind.ATTENTION,
    Kind.MOVEMENT: LaunchKind.MOVEMENT,
    Kind.ELEMENTWISE: LaunchKind.ELEMENTWISE,
    Kind.QUANTIZE: LaunchKind.ELEMENTWISE,
    Kind.SOFTMAX: LaunchKind.SOFTMAX,
    Kind.REDUCTION: LaunchKind.REDUCTION,
    Kind.POOL: LaunchKind.POOL,
}
"""Kinds of launches of the operator kinds of which each has only one."""
