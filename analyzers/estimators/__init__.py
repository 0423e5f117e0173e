"""Estimators of kernel time: one per file, the most trusted first."""

from __future__ import annotations

from .choice import estimates, why
from .estimator import Estimator, Execution

__all__ = ["Estimator", "Execution", "estimates", "why"]
