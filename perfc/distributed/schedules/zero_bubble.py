"""Gradients of parameters fill the gaps of 1F1B, as no stage waits for them: ZB-H1.

Source: P. Qi et al., "Zero bubble pipeline parallelism", 2023, table 1.
"""

from __future__ import annotations

from . import Schedule, Stage, crossings
from .one_forward_one_backward import in_flight


def bubble_s(stage: Stage) -> float:
    """``(p - 1)(F + B - W)``, with as much memory as 1F1B; no less than nothing."""
    gap_s = stage.forward_s + stage.input_s - stage.weight_s
    return (stage.stages - 1) * max(gap_s, 0.0)


SCHEDULE = Schedule("zero-bubble", bubble_s, in_flight, crossings)
