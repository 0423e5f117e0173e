"""Half precision: autocast in training, everything in inference."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.api import Report

from ..way import Way

RANK = 10


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """The run in bf16, where nothing else was asked for."""
    if report.dtype:
        return
    dtype = "amp-bf16" if report.deployment.train else "bf16"
    yield Way(f"--dtype {dtype}", report.under(dtype=dtype))
