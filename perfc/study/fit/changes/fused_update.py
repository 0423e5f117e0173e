"""Fused optimizer update, which needs no temporaries as large as the parameters."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.api import Report
from perfc.passes.training.implementation import OptimizerLaunch

from ..way import Way

RANK = 20
"""Position among the changes: before those that add time."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """Yield the step with a fused update, unless it is fused."""
    how = report.deployment
    # a runtime that is a trainer always fuses the update
    is_fused = how.update is OptimizerLaunch.FUSED or how.table.is_trainer
    if how.train and not is_fused:
        yield Way("--update fused", report.with_(update=OptimizerLaunch.FUSED))
