"""A quantity that is not known exactly: its likeliest value and the interval around it."""

from __future__ import annotations

import math

from perfc.ir import record

END = 1.6449
"""Standard deviations from the middle of a normal distribution to the ends of its central 90 %."""
MIDDLE_SHARE = 0.41
"""Half-width of the central 50 % of a normal distribution over that of its central 90 %:
0.6745 / 1.6449 standard deviations."""

HIGH_ERROR, MEDIUM_ERROR = 0.10, 0.25
"""Largest median error of a prediction with high confidence, and with medium confidence: an agreed
border, so that confidence means the same for all predictors."""


@record
class Interval:
    """The likeliest value of a quantity, and the ends of its 90 % prediction interval.

    The unit is that of the quantity: seconds, joules, bytes, or 1 for a ratio.

    Args:
        low: lower end.
        mid: likeliest value.
        high: upper end.

    >>> Interval(1.0, 2.0, 4.0) + Interval(0.5, 1.0, 1.0)
    Interval(low=1.5, mid=3.0, high=5.0)
    >>> Interval(1.0, 2.0, 4.0) * 0.5
    Interval(low=0.5, mid=1.0, high=2.0)
    """

    low: float
    mid: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Interval:
        """Return the interval of an exact value: all ends are equal."""
        return cls(value, value, value)

    def __add__(self, other: Interval) -> Interval:
        """Return the sum of two quantities whose errors are fully correlated."""
        return Interval(self.low + other.low, self.mid + other.mid, self.high + other.high)

    def __mul__(self, factor: float) -> Interval:
        """Return the quantity times a factor, with the same relative error."""
        return Interval(self.low * factor, self.mid * factor, self.high * factor)

    def at_least(self, least: float) -> Interval:
        """Return the interval with every end raised to at least ``least``.

        A raised middle raises the upper end by the same factor: what was predicted below a bound
        is no more certain at the bound.

        >>> Interval(1.0, 2.0, 4.0).at_least(3.0)
        Interval(low=3.0, mid=3.0, high=6.0)
        """
        high = self.high * max(least / self.mid, 1.0) if self.mid > 0 else self.high
        return Interval(max(self.low, least), max(self.mid, least), max(high, least))

    def slower_of(self, other: Interval) -> Interval:
        """Return the maximum of two quantities, end by end: the time until both are done.

        An end that is NaN in this interval stays NaN.
        """
        return Interval(
            max(self.low, other.low), max(self.mid, other.mid), max(self.high, other.high)
        )

    @property
    def middle_error(self) -> float:
        """Return the median relative error that the interval implies for log-normal times.

        >>> round(Interval(0.8, 1.0, 1.25).middle_error, 2)
        0.1
        """
        if self.low <= 0 or not math.isfinite(self.high):
            return math.inf
        # half of the logarithmic width is the half-width of the central 90 %; the central 50 % hold
        # half of all errors, so that their half-width is the median error
        return math.expm1(MIDDLE_SHARE * math.log(self.high / self.low) / 2)

    def share_below(self, value: float) -> float:
        """Return the probability of values up to ``value``: log-normal on each side of the middle.

        >>> round(Interval(0.8, 1.0, 1.25).share_below(1.25), 2)
        0.95
        """
        # the two sides may have different widths: each is half of a log-normal distribution
        end = self.high if value >= self.mid else self.low
        # an exact value has a step instead of a distribution
        if value <= 0 or end == self.mid:
            return float(value >= self.mid)
        distance = math.log(value / self.mid) / abs(math.log(end / self.mid))
        return (1 + math.erf(distance * END / math.sqrt(2))) / 2

    def widened(self, factor: float) -> Interval:
        """Return the interval with log distances of its ends from the middle times ``factor``."""
        low, high = self.low / self.mid, self.high / self.mid
        return Interval(self.mid * low**factor, self.mid, self.mid * high**factor)
