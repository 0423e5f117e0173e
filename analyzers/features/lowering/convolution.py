"""Convolutions: direct, grouped, depthwise, transposed, with what is fused behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfc.ir.op import Kind
from perfc.passes.efficiency import filter_extents, is_transposed

from . import Lowered, letters, shape

if TYPE_CHECKING:
    from perfc.ir.graph import Node
    from perfc.passes.roofline import KernelBound

NAME = "convolution"


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Extents of a convolution in at most two directions; more are folded into the first."""
    node = bound.kernel.anchor
    if bound.kernel.kind is not Kind.CONV:
        return None
    e = letters(node, env)
    laid = shape(node.inputs[0] if node.inputs else None, env)
    if not e or not all(e.get(name) for name in "ncpqrs") or laid is None or len(laid) < 3:
        return None
    spatial = laid[1:-1] if getattr(node.op, "layout", int)() else laid[2:]
    rank = len(spatial)
    strides: tuple[int, ...] = getattr(node.op, "strides", ()) or (1,) * rank
    dilations: tuple[int, ...] = getattr(node.op, "dilations", ()) or (1,) * rank
    pads = pads_before(node, spatial, strides, dilations)
    return Lowered(
        NAME,
        bound.dtype.code,
        {
            "batch": e["n"],
            "in_channels": e["c"],
            "out_channels": e["k"],
            "in_h": float(math.prod(spatial[:-1])),
            "in_w": float(spatial[-1]),
            "out_h": e["p"],
            "out_w": e["q"],
            "kernel_h": e["r"],
            "kernel_w": e["s"],
            "stride_h": float(math.prod(strides[:-1])),
            "stride_w": float(strides[-1]),
            "pad_h": float(pads[0]) if rank == 2 else 0.0,
            "pad_w": float(pads[-1]),
            "dilation_h": float(math.prod(dilations[:-1])),
            "dilation_w": float(dilations[-1]),
            "groups": e.get("g", 1.0),
            "transposed": float(is_transposed(node)),
        },
    )


def pads_before(
    node: Node, spatial: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    """What a convolution adds before each spatial axis."""
    op, rank = node.op, len(spatial)
    auto_pad: str = getattr(op, "auto_pad", "")
    window = filter_extents(node)
    if not auto_pad.startswith("SAME") or len(window) != rank:
        pads: tuple[int, ...] = getattr(op, "pads", ())
        return pads[:rank] if len(pads) == 2 * rank and auto_pad != "VALID" else (0,) * rank
    found: list[int] = []
    for extent, kernel, stride, dilation in zip(spatial, window, strides, dilations, strict=True):
        span = (kernel - 1) * dilation + 1
        total = max((-(-extent // stride) - 1) * stride + span - extent, 0)
        found.append(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2)
    return tuple(found)
