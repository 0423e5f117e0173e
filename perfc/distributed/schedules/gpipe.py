"""All forward passes, then all backward ones.

Source: Y. Huang et al., "GPipe", 2019.
"""

from __future__ import annotations

from . import Schedule, Stage, crossings, filling_s


def in_flight(stage: Stage) -> float:
    """Return the number of micro-batches: all are held until their backward passes."""
    return float(stage.micro_batches)


SCHEDULE = Schedule("gpipe", filling_s, in_flight, crossings)
