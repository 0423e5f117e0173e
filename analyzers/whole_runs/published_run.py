"""Training step predicted by a fit to published steps of such cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.deployment.fields import STEP_LAW

from ..estimate.estimate import CandidateRun

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir.graph import Module

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable


def by_published_steps(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> CandidateRun | None:
    """Return the step by the fit to published ones; None for other networks, cards and modes.

    Args:
        table: kernels one by one.
        source: the module as read, typed.
        execution: the kernels, on their machine.
        deployment: how the model is run.
    """
    if not deployment.train:
        return None
    from ..runs.step_law import law, step_time

    result = step_time(execution, table, deployment, source)
    if result is None:
        return None
    (time, is_own), known = result, law()
    words = (
        f"the {STEP_LAW} predictor, fitted to {known.steps} published steps of "
        f"{known.architectures} convolutional networks, data loading included"
    )
    outside = () if is_own else (f"no published training step on {execution.machine.name}",)
    return CandidateRun(execution.bounds.floor_s, time, STEP_LAW, words, is_own, outside)
