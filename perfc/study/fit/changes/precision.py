"""Half precision: autocast in training, everything in inference."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.api import Report

from ..way import Way

RANK = 10
"""Position among the changes: before those that add time."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """Yield the run in bf16, or f16 on machines without bf16, unless a precision is set."""
    if report.dtype:
        return
    half = "f16" if report.machine.emulates("bf16") else "bf16"
    dtype = f"amp-{half}" if report.deployment.train else half
    yield Way(f"--dtype {dtype}", report.with_(dtype=dtype))
