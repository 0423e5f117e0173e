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
way. Of 32 published steps of six convolutional networks on A100 and V100, data loading included,
the sum is too fast by 1.7 in the median and 29 lie within this (`benchmarks/step_totals.py`).
"""
NOTE = "no whole training step like it was measured: backward kernels tend to be slower than told"


def widened(table: PredictionTable) -> PredictionTable:
    """The table of a training step whose total is the sum of its kernels, at least that wide."""
    total = table.total
    low_s = max(min(total.low_s, total.time_s * math.exp(SPREAD.low)), total.floor_s)
    high_s = max(total.high_s, total.time_s * math.exp(SPREAD.high))
    time = Interval(min(low_s, total.time_s), total.time_s, high_s)
    return replace(table, total=replace(total, time=time), notes=(*table.notes, NOTE))
