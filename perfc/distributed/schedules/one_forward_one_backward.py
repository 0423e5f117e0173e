"""1F1B: alternating forward and backward passes; GPipe's bubble with fewer activations.

Source: D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training" (PipeDream-flush),
2021.
"""

from __future__ import annotations

from . import Schedule, Stage, crossings, filling_s


def in_flight(stage: Stage) -> float:
    """Return the micro-batches that the first stage holds: one per stage."""
    return float(min(stage.stages, stage.micro_batches))


SCHEDULE = Schedule("1f1b", filling_s, in_flight, crossings)
