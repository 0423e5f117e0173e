"""Which estimator answers for which kernel."""

from __future__ import annotations

from ..estimate.estimate import Estimate, Predictor
from .estimator import Estimator, Execution
from .fitted import Fitted
from .forest import Forests
from .indexing import with_indexing
from .roofline import SustainedRoofline
from .steps import StepFactors

IN_ORDER: tuple[Estimator, ...] = (Fitted(), Forests(), StepFactors(), SustainedRoofline())
"""A kernel is estimated by the first that knows it; `comes_first` may prefer whole steps."""
WIDELY = frozenset({"matmul", "attention_prefill", "attention_decode"})
"""Classes measured in 16 bits on many machines."""


def estimates(execution: Execution) -> tuple[Estimate, ...]:
    """Return the estimate of every kernel alone, without copies and launches.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    chosen: dict[int, Estimate] = {}
    for estimator in IN_ORDER:
        taught = estimator.predictor is Predictor.STEPS
        wanted = [
            i
            for i in execution.indices
            if i not in chosen or (taught and chosen[i].predictor is Predictor.LEARNED)
        ]
        if not wanted:
            break
        for i, estimate in estimator.estimate(execution, wanted).items():
            if comes_first(estimate, chosen.get(i)):
                chosen[i] = estimate
    corrected = with_indexing(execution, chosen)
    return tuple(corrected[i] for i in execution.indices)


def comes_first(steps: Estimate, other: Estimate | None) -> bool:
    """Steps of this machine do, as errors cancel in a run; else who is measured, or `WIDELY` is."""
    if other is None or steps.is_own:
        return True
    return not other.is_measured and (steps.is_measured or other.class_name not in WIDELY)


def why(execution: Execution, index: int, predictor: Predictor) -> object | None:
    """Return the evidence for a predictor's estimate of a kernel."""
    return next(e for e in IN_ORDER if e.predictor is predictor).why(execution, index)
