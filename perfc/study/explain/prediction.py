"""Explanation of the prediction of one kernel: predictor, training data and features."""

from __future__ import annotations

from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.runs.energy import Energy
from perfc.api import Report
from perfc.ir import record
from perfc.view.report.amounts import ratio
from perfc.view.report.sections.prediction import Prediction, collect


@record
class PredictionPart:
    """Prediction of a kernel with its reason, and of the run.

    Args:
        prediction: prediction of the kernel.
        energy: energy of the board; None without a fitted power model.
        notes: warnings about the prediction.
        reason: explanation by its estimator.
        run: prediction of the run.
        share: share of the kernel in the sum of the kernels.
    """

    prediction: Estimate
    energy: Energy | None
    notes: tuple[str, ...]
    reason: object | None
    run: Prediction
    share: float


def prediction_part(report: Report, index: int) -> PredictionPart:
    """Return the prediction of the kernel at ``index`` of the roofline."""
    from perfc.analyzers.estimators import why

    table = report.prediction
    estimate = table.kernels[index]
    energy = table.energies[index] if table.energies else None
    reason = why(report.execution, index, estimate.predictor)
    share = ratio(estimate.time_s, table.kernels_s)
    return PredictionPart(estimate, energy, table.notes, reason, collect(report), share)
