"""List the estimators of a kernel's time by precedence: laws, forests, sustained roofline."""

from __future__ import annotations

from ..estimate.estimate import Predictor
from .estimator import Estimator, Execution
from .forest import Forests
from .laws import Laws
from .roofline import SustainedRoofline

IN_ORDER: tuple[Estimator, ...] = (Laws(), Forests(), SustainedRoofline())
"""Estimators by precedence: a kernel takes the estimate of the first that can predict it."""


def why(execution: Execution, index: int, predictor: Predictor) -> object | None:
    """Return the evidence of the estimator with this predictor for its estimate of a kernel."""
    return next(e for e in IN_ORDER if e.predictor is predictor).why(execution, index)
