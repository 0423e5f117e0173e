"""Convolutions: direct, grouped, depthwise, transposed, with what is fused behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind

from . import Lowered, letters, shape

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

NAME = "convolution"


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Extents of a convolution in at most two directions; more are folded into the second."""
    node = bound.kernel.anchor
    if bound.kernel.kind is not Kind.CONV:
        return None
    e = letters(node, env)
    x = shape(node.inputs[0] if node.inputs else None, env)
    if not e or not all(e.get(name) for name in "ncpqrs") or x is None or len(x) < 3:
        return None
    strides = getattr(node.op, "strides", ()) or (1,)
    window = [e["r"], e["s"]]
    return Lowered(
        NAME,
        bound.dtype.code,
        {
            "batch": e["n"],
            "in_channels": e["c"],
            "out_channels": e["k"],
            "in_h": float(x[2]) if len(x) > 3 else 1.0,
            "in_w": float(x[-1]),
            "out_h": e["p"],
            "out_w": e["q"],
            "kernel_h": window[0],
            "kernel_w": window[1],
            "stride_h": float(strides[0]),
            "stride_w": float(strides[-1]),
            "groups": e.get("g", 1.0),
            "transposed": float(node.op.mnemonic == "conv_transpose"),
        },
    )
