"""ZB-H1: gradients of parameters fill the idle gaps of 1F1B, as no stage waits for them.

Source: P. Qi et al., "Zero bubble pipeline parallelism", 2023, table 1.
"""

from __future__ import annotations

from . import Schedule, Stage, crossings
from .one_forward_one_backward import in_flight


def bubble_s(stage: Stage) -> float:
    """Return the bubble ``(p - 1)(F + B - W)`` in seconds, at least 0.

    F, B and W are the times of the forward pass, of gradients of inputs and of parameters.
    """
    gap_s = stage.forward_s + stage.input_s - stage.weight_s
    return (stage.stages - 1) * max(gap_s, 0.0)


SCHEDULE = Schedule("zero-bubble", bubble_s, in_flight, crossings)
