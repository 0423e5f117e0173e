"""Calibrated intervals by split conformal prediction, normalised by an expected spread.

Source: Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive Confidence Machines for
Regression", ECML 2002; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-Free
Predictive Inference for Regression", JASA 2018, section 5.2 (locally weighted). A score is
``log(measured / predicted) / spread``, and the interval reaches from its lower to its upper
quantile, each with the finite-sample correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

COVERAGE = 0.9
"""Share of measurements inside their intervals: 90 % everywhere."""
LEAST_SPREAD = 1e-3
"""Minimum expected spread in logarithms (0.1 %), since residuals are divided by the spread."""
_FITTED = constants_next_to(__file__)
LONGEST = _FITTED["longest_side"].number
"""Largest logarithm of an interval's end over its middle."""
GROWTH = _FITTED["growth"].number
"""Exponent of the distance with which a machine's common error grows, below a distance of 1."""
LEAST_DISTANCE = 0.1
FURTHEST = 1e3
"""Limits of the distance between machines: 0.1 for machines with equal data
sheets; beyond 1000 all machines count as equally far, which keeps intervals finite."""
AT_ONCE = 1.0
"""Distance of any unmeasured machine for predictors of steps and whole runs, which have all kernels
at once: three measured machines do not justify less."""
UNMEASURED_WIDENING = _FITTED["unmeasured_widening"].number
"""Factor of the width of intervals of a class in which no held-out machine was ever tested."""
EXTRAPOLATED = _FITTED["extrapolated"].number
"""Upper over lower end of an interval above which a prediction is reported as an extrapolation.

The range of the training rows is a weaker sign: f32 kernels inside a run are always outside of it.
"""


@record
class Band:
    """Quantiles of scores; the interval of a prediction is ``time · exp(spread · [low, high])``."""

    low: float
    high: float

    def around(self, other: Band) -> Band:
        """Return the narrowest band that includes both."""
        return Band(min(self.low, other.low), max(self.high, other.high))

    def widened(self, factor: float) -> Band:
        """Return the band with both ends further from the prediction by a factor.

        The result includes the prediction, at 0.
        """
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        return Band(low * factor, high * factor)


LEVELS = Band((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
"""Levels of the quantiles of an interval, 5 and 95 %, if its distribution is calibrated."""


def grown(distance: float) -> float:
    """Return the factor of errors on an unmeasured machine at a distance, 1 at a distance of 1.

    The distance is that of `perfc.analyzers.features.distance.nearest`: 1 is a factor of two in
    every number of the data sheet. Beyond 1, errors grow in proportion.

    >>> grown(1.0), grown(3.0), round(grown(0.1), 3)
    (1.0, 3.0, 0.398)
    """
    distance = min(max(distance, LEAST_DISTANCE), FURTHEST)
    return float(max(distance**GROWTH, distance))


@record
class Unseen:
    """Intervals on unmeasured machines, from measured machines each left out in turn.

    All kernels of such a machine share an error: the expected error of a kernel is the root of the
    squares of its spread and of the shared error.

    Args:
        error: shared error of the logarithm at a distance of 1.
        band: band of errors over expected errors.
    """

    error: float
    band: Band

    def expected(self, spread: Array, distance: float) -> Array:
        """Return expected errors at a distance, for rows of given spreads on measured machines."""
        result: Array = np.hypot(spread, self.error * grown(distance))
        return result

    def around(self, other: Unseen) -> Unseen:
        """Return the narrowest intervals that include both."""
        return Unseen(max(self.error, other.error), self.band.around(other.band))


@record
class Bands:
    """The bands of one category of kernels.

    Args:
        seen: band for measured machines.
        unseen: intervals for other machines; None if no machine was left out.
        levels: levels of the quantiles if several kernels are candidates.
    """

    seen: Band
    unseen: Unseen | None = None
    levels: Band = LEVELS

    def ends(self, spread: Array, distance: float, *, measured: bool) -> tuple[Array, Array]:
        """Return the logarithms of interval ends over medians, around 0.

        They are never narrower than on a measured machine.

        Args:
            spread: expected error of each row on measured machines.
            distance: distance to the nearest measured machine.
            measured: True if the machine was measured.
        """
        low, high = around_zero(self.seen, spread)
        if measured:
            return low, high
        if self.unseen is None:
            # no machine was held out: errors on other machines are assumed to be wider
            wider = UNMEASURED_WIDENING * max(grown(distance), 1.0)
            return low * wider, high * wider
        far = around_zero(self.unseen.band, self.unseen.expected(spread, distance))
        return np.minimum(low, far[0]), np.maximum(high, far[1])

    def around(self, other: Bands) -> Bands:
        """Return the narrowest bands that include both; ``unseen`` only if both have it."""
        # a category without held-out machines says nothing of errors there
        both = self.unseen and other.unseen and self.unseen.around(other.unseen)
        return Bands(self.seen.around(other.seen), both, self.levels.around(other.levels))


def around_zero(one: Band, expected: Array) -> tuple[Array, Array]:  # one: a band
    """Return the ends of a band times expected errors; the interval always includes 0."""
    return expected * min(one.low, 0.0), expected * max(one.high, 0.0)


@record
class Calibration:
    """Bands by category of kernels.

    Categories have separate bands, since a common quantile would be calibrated for none of them
    (Vovk, Lindsay, Nouretdinov and Gammerman, "Mondrian confidence machine", 2003).

    Args:
        bands: bands of all kernels together.
        categories: bands of each measured category; any other has the widest of all.
    """

    bands: Bands
    categories: Mapping[str, Bands] = field(default_factory=dict)

    def of(self, category: str) -> Bands:
        """Return the bands of a category; the widest of all if it was not measured."""
        measured = self.categories.get(category)
        return measured or reduce(Bands.around, self.categories.values(), self.bands)

    def ends(
        self,
        spread: Array,
        distance: float,
        *,
        measured: bool,
        category: NDArray[np.intp] | None = None,
        names: Sequence[str] = (),
    ) -> tuple[Array, Array]:
        """Return the logarithms of interval ends over medians, by the bands of each row's category.

        See `Bands.ends`.

        Args:
            spread: expected error of each row on measured machines.
            distance: distance to the nearest measured machine; 0 for a machine with an equal sheet.
            measured: True if the machine was measured.
            category: index into ``names`` of each row; none by default.
            names: names of the categories.
        """
        if category is None or not names:
            return self.bands.ends(spread, distance, measured=measured)
        low, high = np.zeros(len(spread)), np.zeros(len(spread))
        # one call per category
        for index in sorted(set(category.tolist())):
            rows = category == index
            bands = self.of(names[index])
            low[rows], high[rows] = bands.ends(spread[rows], distance, measured=measured)
        return low, high

    def levels(self, category: NDArray[np.intp], names: Sequence[str]) -> tuple[Array, Array]:
        """Return the levels of the quantiles at the ends of an interval over several candidates.

        Args:
            category: index into ``names`` of each row.
            names: names of the categories.
        """
        bands = [self.of(name).levels for name in names] or [self.bands.levels]
        low, high = np.array([(levels.low, levels.high) for levels in bands]).T
        return low[category], high[category]


def band(
    scores: Array,
    weights: Array | None = None,
    coverage: float = COVERAGE,
    count: int | None = None,
) -> Band:
    """Return the quantiles of scores with an equal share of rows beyond either end.

    Args:
        scores: score of each held-out row.
        weights: weight of each row; equal by default.
        coverage: share of further rows that are expected inside.
        count: number of rows of the finite-sample correction; all by default.
    """
    level = 1 - (1 - coverage) / 2
    if weights is None:
        weights = np.ones(len(scores))
    count = count or len(scores)
    return Band(-_upper(-scores, weights, level, count), _upper(scores, weights, level, count))


def _upper(scores: Array, weights: Array, level: float, count: int) -> float:
    """Return the weighted quantile ``level`` of scores, with the finite-sample correction."""
    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    # the predicted row is one more, of mean weight; its score counts as larger than all others
    wanted = level * (cumulated[-1] + cumulated[-1] / count)
    # with few rows the quantile lies beyond all scores: the largest stands for it
    index = min(int(np.searchsorted(cumulated, wanted)), len(scores) - 1)
    return float(scores[order[index]])


def sides(low: Array, high: Array) -> Array:
    """Return the length of each feature's range in the training rows.

    Of a constant feature it is the magnitude of the constant, or 1 for the constant 0. Then a new
    value (a kernel family that no row had) is about one length outside, and doubles an interval
    instead of making it infinite.
    """
    size = np.maximum(np.abs(low), np.abs(high))
    lengths: Array = np.where(high > low, high - low, np.where(size > 0, size, 1.0))
    return lengths


def excess(
    values: NDArray[np.float32], low: Array, high: Array, side: Array | None = None
) -> Array:
    """Return how far rows of ``values[rows, features]`` are outside the training ranges.

    The unit is the length of a range; the largest over all features counts, 0 inside.
    """
    # 1e-6: a constant feature without a given side has a range of 0
    side = np.maximum(high - low if side is None else side, 1e-6)
    beyond = np.maximum(np.maximum(low - values, values - high), 0) / side
    # rounding to single precision must not put a training row outside its range
    result: Array = np.where(beyond < 1e-5, 0.0, beyond).max(axis=1, initial=0.0)
    return result
