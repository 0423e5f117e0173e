"""Estimators of kernel time: one per file, the most trusted first."""

from __future__ import annotations

from .choice import IN_ORDER, why
from .estimator import Estimator, Execution

__all__ = ["IN_ORDER", "Estimator", "Execution", "why"]
