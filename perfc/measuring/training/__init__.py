"""Monitoring of trainings: steps measured against their prediction, in loops and trainers."""

from __future__ import annotations

from .monitor import ExpectedStep, StepMonitor, expected_step

__all__ = ["ExpectedStep", "StepMonitor", "expected_step"]
