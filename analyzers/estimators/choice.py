"""Which estimator answers for which kernel."""

from __future__ import annotations

from ..estimate.estimate import Estimate, Predictor
from .estimator import Estimator, Execution
from .forest import Forests
from .laws import Laws
from .roofline import SustainedRoofline

IN_ORDER: tuple[Estimator, ...] = (Laws(), Forests(), SustainedRoofline())
"""A kernel is estimated by the first that knows it."""


def estimates(execution: Execution) -> tuple[Estimate, ...]:
    """Return the estimate of every kernel alone, without copies and launches.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    chosen: dict[int, Estimate] = {}
    for estimator in IN_ORDER:
        wanted = [i for i in execution.indices if i not in chosen]
        if not wanted:
            break
        chosen |= estimator.estimate(execution, wanted)
    return tuple(chosen[i] for i in execution.indices)


def why(execution: Execution, index: int, predictor: Predictor) -> object | None:
    """Return the evidence for a predictor's estimate of a kernel."""
    return next(e for e in IN_ORDER if e.predictor is predictor).why(execution, index)
