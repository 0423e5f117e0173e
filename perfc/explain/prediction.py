"""How the prediction of one kernel is made: who says it, from what, and what moved it."""

from __future__ import annotations

from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.runs.energy import Energy
from perfc.api import Report
from perfc.ir.record import record
from perfc.report.amounts import ratio
from perfc.report.prediction import Prediction, collect


@record
class PredictionPart:
    """The prediction of a kernel, its reason, which is the estimator's own, and of the run.

    Args:
        prediction: of the kernel.
        energy: of the board; None where nobody fitted the power of such a machine.
        notes: what to know before trusting it.
        reason: of its estimator.
        run: what the run takes, which the kernel is part of.
        share: of the kernel, of the kernels' own sum.
    """

    prediction: Estimate
    energy: Energy | None
    notes: tuple[str, ...]
    reason: object | None
    run: Prediction
    share: float


def prediction_part(report: Report, index: int) -> PredictionPart:
    """The prediction of the kernel at ``index`` of the roofline."""
    from perfc.analyzers.estimators import why

    table = report.prediction
    found = table.kernels[index]
    energy = table.energies[index] if table.energies else None
    reason = why(report.execution, index, found.predictor)
    share = ratio(found.time_s, table.kernels_s)
    return PredictionPart(found, energy, table.notes, reason, collect(report), share)
