"""Monitoring of trainings: steps measured against their prediction, in loops and trainers."""

from __future__ import annotations

from .monitor import Expected, StepMonitor, expected_step

__all__ = ["Expected", "StepMonitor", "expected_step"]
