"""Widen the interval of a training step that is a sum of kernels, if no such step was measured."""

from __future__ import annotations

import math
from dataclasses import replace

from perfc.common.fitted import constants_next_to

from ..estimate.interval import Interval
from ..intervals.conformal import Band
from ..runs.prediction import PredictionTable

SPREAD = Band(*constants_next_to(__file__)["summed_step"].numbers)
"""Interval of the logarithm of a step over the sum of its kernels.

Convolutional networks on A100 and V100 have a separate fit (`perfc.analyzers.runs.step_law`).
"""
NOTE = "no similar training step was measured: backward kernels tend to be slower than predicted"


def widened(table: PredictionTable) -> PredictionTable:
    """Return the table of a training step whose interval includes at least `SPREAD`."""
    total = table.total
    # never narrower than the interval from errors of single kernels, and above the lower bound
    low_s = max(min(total.low_s, total.time_s * math.exp(SPREAD.low)), total.floor_s)
    high_s = max(total.high_s, total.time_s * math.exp(SPREAD.high))
    # the lower bound may exceed the sum of the kernels: the low end then stays at the estimate
    time = Interval(min(low_s, total.time_s), total.time_s, high_s)
    return replace(table, total=replace(total, time=time), notes=(*table.notes, NOTE))
