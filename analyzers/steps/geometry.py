"""Extents of a kernel as the product it is: rows, columns, depth, groups, window."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from perfc.ir.dim import Dim
from perfc.ir.graph import Value
from perfc.ir.op import Kind
from perfc.ir.types import TensorType
from perfc.passes.efficiency import is_depthwise, is_transposed

from .launch_kind import LaunchKind

if TYPE_CHECKING:
    from perfc.passes.fuse import Kernel

IMAGE_CHANNELS = 4


class Geometry(NamedTuple):
    """A kernel seen as ``groups`` products ``[m, k] × [k, n]``; zeros where it is none.

    Args:
        k: depth, None where the multiply–accumulates tell it.
        window: elements of the filter or pooling window.
        stride: product over axes.
    """

    m: Dim = 0
    n: Dim = 0
    k: Dim | None = 0
    groups: Dim = 1
    window: Dim = 1
    stride: int = 1


def shape(v: Value | None) -> tuple[Dim, ...]:
    """Extents of a tensor, none where its rank is not known."""
    if v is None or not isinstance(v.type, TensorType):
        return ()
    return v.type.shape or ()


@lru_cache(maxsize=4096)
def product(extents: tuple[Dim, ...]) -> Dim:
    """Their product."""
    found: Dim = 1
    for d in extents:
        found = found * d
    return found


def geometry(kernel: Kernel) -> Geometry:
    """Of a kernel's anchor."""
    anchor = kernel.anchor
    match kernel.kind:
        case Kind.CONV if len(anchor.inputs) > 1 and len(shape(anchor.inputs[1])) > 2:
            return _convolution(kernel)
        case Kind.MATMUL if anchor.op.mnemonic in ("matmul", "gemm") and anchor.results:
            return _product(kernel)
        case Kind.ATTENTION:
            return _attention(kernel)
        case Kind.POOL:
            window: tuple[int, ...] = getattr(anchor.op, "kernel_shape", ())
            return Geometry(window=math.prod(window), stride=_stride(kernel))
        case _:
            return Geometry()


def _stride(kernel: Kernel) -> int:
    strides: tuple[int, ...] = getattr(kernel.anchor.op, "strides", ())
    return math.prod(strides)


def _convolution(kernel: Kernel) -> Geometry:
    anchor = kernel.anchor
    y, w = shape(anchor.results[0]), shape(anchor.inputs[1])
    groups: int = getattr(anchor.op, "group", 1)
    m = y[0] * product(y[2:])
    if is_transposed(anchor):
        return Geometry(m, w[1], w[0] // groups, groups, product(w[2:]), _stride(kernel))
    return Geometry(m, w[0] // groups, product(w[1:]), groups, product(w[2:]), _stride(kernel))


def _product(kernel: Kernel) -> Geometry:
    anchor = kernel.anchor
    y, a = shape(anchor.results[0]), shape(anchor.inputs[0])
    if len(y) < 2 or not a:
        return Geometry()
    if anchor.op.mnemonic == "gemm" or len(shape(anchor.inputs[1])) == 2:
        return Geometry(product(y[:-1]), y[-1], None)
    return Geometry(y[-2], y[-1], a[-1], product(y[:-2]))


def _attention(kernel: Kernel) -> Geometry:
    found = scores(kernel)
    if len(found) > 1:
        return Geometry(found[-2], found[-1], None, product(found[:-2]))
    return Geometry()


def scores(kernel: Kernel) -> tuple[Dim, ...]:
    """Extents of what attention takes the softmax of; none where there is no matrix of them."""
    for node in kernel.nodes:
        if node.op.kind is Kind.SOFTMAX and len(shape(node.inputs[0])) > 1:
            return shape(node.inputs[0])
    return ()


def kind_of(kernel: Kernel, found: Geometry, channels: float) -> LaunchKind:
    """The kind of launch that a kernel is."""
    mnemonic = kernel.anchor.op.mnemonic
    match kernel.kind:
        case Kind.CONV if channels <= IMAGE_CHANNELS:
            return LaunchKind.STEM
        case Kind.CONV if is_depthwise(kernel):
            return LaunchKind.DEPTHWISE
        case Kind.CONV if found.groups != 1:
            return LaunchKind.GROUPED
        case Kind.CONV:
            return LaunchKind.POINTWISE if found.window == 1 else LaunchKind.CONVOLUTION
        case Kind.MATMUL:
            return LaunchKind.MATMUL if found.groups == 1 else LaunchKind.BATCHED_MATMUL
        case Kind.NORMALIZATION if mnemonic == "batch_norm":
            return LaunchKind.BATCH_NORM
        case Kind.NORMALIZATION if mnemonic in ("instance_norm", "group_norm"):
            return LaunchKind.GROUP_NORM
        case Kind.NORMALIZATION:
            return LaunchKind.LAYER_NORM
        case Kind.ELEMENTWISE if kernel.pattern == "activation":
            return LaunchKind.ACTIVATION
        case kind:
            return PLAIN.get(kind, LaunchKind.OTHER)


PLAIN = {
    Kind.ATTENTION: LaunchKind.ATTENTION,
    Kind.MOVEMENT: LaunchKind.MOVEMENT,
    Kind.ELEMENTWISE: LaunchKind.ELEMENTWISE,
    Kind.QUANTIZE: LaunchKind.ELEMENTWISE,
    Kind.SOFTMAX: LaunchKind.SOFTMAX,
    Kind.REDUCTION: LaunchKind.REDUCTION,
    Kind.POOL: LaunchKind.POOL,
}
