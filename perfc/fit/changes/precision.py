"""Half precision: autocast in training, everything in inference."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.api import Report

from ..way import Way

RANK = 10


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """The run in bf16, or in f16 where nothing computes bf16, where nothing else was asked for."""
    if report.dtype:
        return
    half = "f16" if report.machine.emulates("bf16") else "bf16"
    dtype = f"amp-{half}" if report.deployment.train else half
    yield Way(f"--dtype {dtype}", report.under(dtype=dtype))
