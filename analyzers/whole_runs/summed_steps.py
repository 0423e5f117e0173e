"""How far kernels of a training step are off together, where no whole step like it is known."""

from __future__ import annotations

import math
from dataclasses import replace

from ..estimate.interval import Interval
from ..intervals.conformal import Band
from ..runs.prediction import PredictionTable

SPREAD = Band(-0.5, 1.0)
"""Logarithm of a step over the sum of its kernels that nine in ten are within.

No kernel of a backward pass was timed alone in 16 bits or in TF32, so that errors of all point one
way. Of 56 published steps on A100 and V100, data loading included, the sum of the kernels is from
1.25 times as long as the step to 2.35 times too short, and all lie within this
(`lab/perfc_lab/fits/published_steps.py`). Convolutional networks on these cards have a law of
their own.
"""
NOTE = "no similar training step was measured: backward kernels tend to be slower than predicted"


def widened(table: PredictionTable) -> PredictionTable:
    """The table of a training step whose total is the sum of its kernels, at least that wide."""
    total = table.total
    low_s = max(min(total.low_s, total.time_s * math.exp(SPREAD.low)), total.floor_s)
    high_s = max(total.high_s, total.time_s * math.exp(SPREAD.high))
    time = Interval(min(low_s, total.time_s), total.time_s, high_s)
    return replace(table, total=replace(total, time=time), notes=(*table.notes, NOTE))
