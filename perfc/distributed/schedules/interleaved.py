"""Each stage has several parts of the layers, so that the pipeline fills in smaller steps.

Source: D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
Megatron-LM", 2021.
"""

from __future__ import annotations

from . import Schedule, Stage, filling_s


def bubble_s(stage: Stage) -> float:
    """That of 1F1B, divided by the parts of a stage."""
    return filling_s(stage) / stage.virtual


def in_flight(stage: Stage) -> float:
    """As 1F1B, and what fills the parts: ``1 + (p - 1) / (p·v)`` times as much."""
    p, v = stage.stages, stage.virtual
    return min(p * (1 + (p - 1) / (p * v)), float(stage.micro_batches))


def hand_overs(stage: Stage) -> float:
    """Every part of every micro-batch is handed over; those of the filling are waited for."""
    return 2.0 * (stage.stages - 1) * stage.virtual


SCHEDULE = Schedule("interleaved", bubble_s, in_flight, hand_overs, is_interleaved=True)
