"""Measures a machine's ceilings and writes them as a target file that says how good it is."""

from __future__ import annotations

from .outcome import Calibration, Change, Row
from .run import Budget, UncertainError, calibrate

__all__ = ["Budget", "Calibration", "Change", "Row", "UncertainError", "calibrate"]
