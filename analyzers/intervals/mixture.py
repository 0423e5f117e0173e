"""One answer from several: quantiles of what different kernels of one product take.

Each estimate is a distribution of the logarithm of the time: logistic on either side of its
middle, and as wide as its nine-in-ten interval says. What may be any of them is their mixture, to
which each adds as much as another.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.record import entity

from .conformal import COVERAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

TAIL = (1 - COVERAGE) / 2
"""Share of times that lie below an interval, and above it."""
REACH = math.log(1 / TAIL - 1)
"""From the middle of a logistic distribution to either end, in its scale."""
LEAST_WIDTH = 1e-9
HALVINGS = 40
"""Of the range that holds a quantile."""


@entity
class Mixture:
    """What rows may take, each by several estimates: logarithms of seconds, ``[estimates, rows]``.

    Args:
        low: ends of intervals.
        middle: estimates.
        high: other ends.
        speaks: whether an estimate is of a row; one at least of each is.
    """

    low: Array
    middle: Array
    high: Array
    speaks: NDArray[np.bool_]

    @property
    def count(self) -> NDArray[np.intp]:
        """How many estimates speak of each row."""
        found: NDArray[np.intp] = self.speaks.sum(axis=0)
        return found

    def ends(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Interval and median of each row; those of a single estimate are its own.

        Args:
            low: share of the times below the interval, ``[rows]``.
            high: share below its upper end.
        """
        first = np.argmax(self.speaks, axis=0)
        row = np.arange(len(first))
        found = [end[first, row] for end in (self.low, self.middle, self.high)]
        several = np.flatnonzero(self.count > 1)
        if len(several):
            low_of, middle_of, high_of = (e[:, several] for e in (self.low, self.middle, self.high))
            rest = Mixture(low_of, middle_of, high_of, self.speaks[:, several])
            levels = (low[several], np.full(len(several), 0.5), high[several])
            for end, level in zip(found, levels, strict=True):
                end[several] = rest.quantile(level)
        return found[0], found[1], found[2]

    def below(self, log_s: Array) -> Array:
        """Share of the times of each row that are expected below one, ``[rows]``."""
        away = log_s - self.middle
        width = np.where(away < 0, self.middle - self.low, self.high - self.middle)
        scaled = np.clip(REACH * away / np.maximum(width, LEAST_WIDTH), -500.0, 500.0)
        found: Array = (self.speaks / (1 + np.exp(-scaled))).sum(axis=0) / self.count
        return found

    def quantile(self, level: Array) -> Array:
        """The time of each row that a share ``level`` of its times lie below, as a logarithm."""
        # a quantile of the mixture lies between those of its parts
        away = np.log(level / (1 - level)) / REACH
        width = np.where(away < 0, self.middle - self.low, self.high - self.middle)
        own = self.middle + away * width
        low = np.where(self.speaks, own, np.inf).min(axis=0)
        high = np.where(self.speaks, own, -np.inf).max(axis=0)
        for _ in range(HALVINGS):
            half = (low + high) / 2
            is_below = self.below(half) < level
            low, high = np.where(is_below, half, low), np.where(is_below, high, half)
        found: Array = (low + high) / 2
        return found
