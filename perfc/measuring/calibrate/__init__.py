"""Measure a machine's ceilings and write them as a target file that says how good it is."""

from __future__ import annotations

from .outcome import CalibratedTarget, CeilingRow, ChangedRate
from .run import MeasurementBudget, UncertainError, calibrate

__all__ = [
    "CalibratedTarget",
    "CeilingRow",
    "ChangedRate",
    "MeasurementBudget",
    "UncertainError",
    "calibrate",
]
