"""One forward, one backward pass in turn: the bubble of GPipe with fewer activations.

Source: D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training" (PipeDream-flush),
2021.
"""

from __future__ import annotations

from . import Schedule, Stage, crossings, filling_s


def in_flight(stage: Stage) -> float:
    """The first stage is ahead of the last by their distance."""
    return float(min(stage.stages, stage.micro_batches))


SCHEDULE = Schedule("1f1b", filling_s, in_flight, crossings)
