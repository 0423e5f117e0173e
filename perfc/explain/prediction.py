"""How the prediction of one kernel is made: who says it, from what, and what moved it."""

from __future__ import annotations

from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.runs.energy import Energy
from perfc.api import Report
from perfc.ir.record import record


@record
class PredictionPart:
    """The prediction of a kernel and its reason, which is the estimator's own."""

    prediction: Estimate
    energy: Energy | None
    notes: tuple[str, ...]
    reason: object | None


def prediction_part(report: Report, index: int) -> PredictionPart:
    """The prediction of the kernel at ``index`` of the roofline."""
    from perfc.analyzers.estimators import why

    table = report.prediction
    found = table.kernels[index]
    energy = table.energies[index] if table.energies else None
    reason = why(report.execution, index, found.predictor)
    return PredictionPart(found, energy, table.notes, reason)
