"""Plain exports: graphs whose attention a runtime leaves unfused but its graph optimizer merges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfc.ir import Kind
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.runtimes import Runtime, Steps, of_steps, tables

if TYPE_CHECKING:
    from perfc.api import Report

OPTIMIZER = "transformer optimizer"
"""``python -m onnxruntime.transformers.optimizer --input MODEL --output FILE``."""
PLAIN = {
    "transformers": "attn_implementation='eager'",
    "timm": "timm.layers.set_fused_attn(False)",
}
"""Argument by which a package exports attention as products and a softmax, by its folder."""


def optimizer_of(report: Report) -> Runtime | None:
    """Return the table of the graph optimizer that merges attention here; None where none does."""
    # the name of a variant of a runtime has a colon
    runtime = report.kernels.runtime.name.partition(":")[0]
    table = next((t for t in tables() if t.optimizes == runtime), None)
    if table is None:
        return None
    kernels = report.kernels

    def has_softmax() -> bool:
        return any(k.kind is Kind.SOFTMAX for k in kernels.kernels)

    # without a separate softmax no attention is left to merge
    is_unfused = kernels.once("softmax", {}, has_softmax)
    return table if is_unfused and merges_attention(report, table) else None


def optimizer_title(report: Report) -> str:
    """Return the remedy: the optimizer, which merges attention only as modules export it if eager.

    Source: onnxruntime 1.32, where no type of model has a pattern for the export of
    ``scaled_dot_product_attention``, which splits its scale.
    """
    # eager PyTorch runs as one kernel what was exported from `scaled_dot_product_attention`
    if not merges_attention(report, of_steps(Steps.EAGER)):
        return OPTIMIZER
    nodes = (n for k in report.kernels.kernels if k.kind is Kind.SOFTMAX for n in k.nodes)
    return f"{plain_export(f for n in nodes for f in n.loc.frames)}, {OPTIMIZER}"


def plain_export(frames: Iterable[str]) -> str:
    """Return how attention whose code has these frames is exported without the fused function.

    >>> plain_export(["net.py:3", "timm/layers/attention.py:90"]), plain_export(["net.py:3"])
    ('timm.layers.set_fused_attn(False)', 'export without SDPA')
    """
    folders = {frame.partition("/")[0] for frame in frames}
    return next((PLAIN[f] for f in PLAIN if f in folders), "export without SDPA")


def merges_attention(report: Report, table: Runtime) -> bool:
    """Return True if a runtime runs the several nodes of attention as one kernel."""
    kernels = report.analyses.get(Fuse(table.name), report.module).kernels
    return any(k.pattern == "attention" for k in kernels)
