"""Interleaved schedule: a stage has several virtual stages, so the pipeline fills faster.

Source: D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
Megatron-LM", 2021.
"""

from __future__ import annotations

from . import Schedule, Stage, filling_s


def bubble_s(stage: Stage) -> float:
    """Return the bubble of 1F1B divided by the virtual stages, in seconds."""
    return filling_s(stage) / stage.virtual


def in_flight(stage: Stage) -> float:
    """Return the micro-batches held at once: ``1 + (p - 1) / (p·v)`` times as many as 1F1B."""
    p, v = stage.stages, stage.virtual
    return min(p * (1 + (p - 1) / (p * v)), float(stage.micro_batches))


def hand_overs(stage: Stage) -> float:
    """Return the exposed messages: those of all virtual stages while the pipeline fills."""
    return 2.0 * (stage.stages - 1) * stage.virtual


SCHEDULE = Schedule("interleaved", bubble_s, in_flight, hand_overs, is_interleaved=True)
