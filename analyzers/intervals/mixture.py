"""Mix the estimates of several candidate kernels, if it is unknown which of them a library runs.

The estimate of each candidate is a distribution of the logarithm of the time: logistic on either
side of its middle, scaled to its 90 % interval. The time has the mixture of these distributions,
with equal weights. The result is the time with the least expected relative error. It is not the
median, since an error of one second weighs more if the true time is short.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

from .conformal import COVERAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

TAIL = (1 - COVERAGE) / 2
"""Share of times below an interval, and share above it."""
REACH = math.log(1 / TAIL - 1)
"""Distance from the median of a logistic distribution to either end of its interval, in units of
its scale parameter: the logarithm of the odds of that end."""
LEAST_WIDTH = 1e-9
"""Minimum width of one side of an interval, since distances are divided by it."""
HALVINGS = 40
"""Number of bisections of the range of a quantile; 40 leave 1e-12 of it."""
SHARES = (np.arange(19) + 0.5) / 19
"""Levels of the quantiles that represent an estimate: an odd number, so that one is its median; 19
have one in every 5 %."""
AT_ONCE = 20_000
"""Rows that are computed at a time, which bounds memory."""


@entity
class Mixture:
    """Mixture of several estimates per row: logarithms of seconds, ``[estimates, rows]``.

    Args:
        low: lower ends of intervals.
        middle: estimates.
        high: upper ends of intervals.
        speaks: True where an estimate covers a row; at least one per row does.
    """

    low: Array
    middle: Array
    high: Array
    speaks: NDArray[np.bool_]

    @property
    def count(self) -> NDArray[np.intp]:
        """Return the number of estimates that cover each row."""
        result: NDArray[np.intp] = self.speaks.sum(axis=0)
        return result

    def ends(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return lower end, time of least error and upper end of each row.

        A row with a single estimate has that estimate and its interval, unchanged.

        Args:
            low: level of the lower end, the share of times below it, ``[rows]``.
            high: level of the upper end.
        """
        first = np.argmax(self.speaks, axis=0)
        row = np.arange(len(first))
        interval = [end[first, row] for end in (self.low, self.middle, self.high)]
        several = np.flatnonzero(self.count > 1)
        if len(several):
            low_of, middle_of, high_of = (e[:, several] for e in (self.low, self.middle, self.high))
            rest = Mixture(low_of, middle_of, high_of, self.speaks[:, several])
            ends = [rest.quantile(level[several]) for level in (low, high)]
            middle = np.clip(rest.least_error(), *ends)
            for end, value in zip(interval, (ends[0], middle, ends[1]), strict=True):
                end[several] = value
        return interval[0], interval[1], interval[2]

    def below(self, log_s: Array) -> Array:
        """Return the probability that the time of each row is below ``log_s``, ``[rows]``."""
        distance = log_s - self.middle
        width = np.where(distance < 0, self.middle - self.low, self.high - self.middle)
        # beyond e⁵⁰⁰ the exponential would overflow soon
        scaled = np.clip(REACH * distance / np.maximum(width, LEAST_WIDTH), -500.0, 500.0)
        share: Array = (self.speaks / (1 + np.exp(-scaled))).sum(axis=0) / self.count
        return share

    def quantile(self, level: Array) -> Array:
        """Return the quantile ``level`` of the times of each row, as a logarithm."""
        # a quantile of the mixture lies between the quantiles of its parts, which have a closed
        # form; bisection then searches between them
        widths_away = np.log(level / (1 - level)) / REACH
        width = np.where(widths_away < 0, self.middle - self.low, self.high - self.middle)
        quantiles = self.middle + widths_away * width
        low = np.where(self.speaks, quantiles, np.inf).min(axis=0)
        high = np.where(self.speaks, quantiles, -np.inf).max(axis=0)
        for _ in range(HALVINGS):
            half = (low + high) / 2
            is_below = self.below(half) < level
            low, high = np.where(is_below, half, low), np.where(is_below, high, half)
        result: Array = (low + high) / 2
        return result

    def least_error(self) -> Array:
        """Return the time of least expected relative error of each row, as a logarithm.

        It is the median of the times t with the weights 1 / t, as a predicted time p has the mean
        error of ``|p / t - 1|``, which is that of ``|p - t|`` with weights ``1 / t``. The result is
        at least the shortest estimate: in an interval of several decades, these weights would leave
        only the lower tail, which is long because of uncertainty, not because the kernel is short.
        """
        count = self.middle.shape[1]
        parts = [self._least_error(slice(i, i + AT_ONCE)) for i in range(0, count, AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _least_error(self, rows: slice) -> Array:
        """Return the time of least error for some rows: the weighted median of all quantiles."""
        # axes: estimates, quantiles of each, rows; the first two are then joined
        low, middle, high = (end[:, None, rows] for end in (self.low, self.middle, self.high))
        away = (np.log(SHARES / (1 - SHARES)) / REACH)[None, :, None]
        times = middle + np.where(away < 0, away * (middle - low), away * (high - middle))
        speaks = np.broadcast_to(self.speaks[:, None, rows], times.shape)
        times = np.where(speaks, times, np.inf).reshape(-1, times.shape[-1])
        order = np.argsort(times, axis=0)
        times = np.take_along_axis(times, order, axis=0)
        # the weight 1 / t, relative to that of the shortest time
        summed = np.cumsum(np.exp(times[0] - times), axis=0)
        half = np.argmax(summed >= summed[-1] / 2, axis=0)
        best = np.take_along_axis(times, half[None], axis=0)[0]
        shortest = np.where(self.speaks[:, rows], self.middle[:, rows], np.inf).min(axis=0)
        result: Array = np.maximum(best, shortest)
        return result
