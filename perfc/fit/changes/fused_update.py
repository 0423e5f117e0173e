"""The optimiser as one kernel: no list of temporaries as large as the parameters."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.api import Report
from perfc.passes.training.implementation import Implementation

from ..way import Way

RANK = 20


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """The step with a fused update, where it is not."""
    how = report.deployment
    if how.train and how.update is not Implementation.FUSED:
        yield Way("--update fused", report.under(update=Implementation.FUSED))
