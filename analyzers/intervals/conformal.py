"""Intervals that hold: split conformal prediction, normalised by an expected spread.

Source: Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive Confidence Machines for
Regression", ECML 2002; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-Free
Predictive Inference for Regression", JASA 2018, section 5.2 (locally weighted). A score is
``log(measured / predicted) / spread``, and the interval reaches from its lower to its upper
quantile, each with the finite-sample correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.record import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

COVERAGE = 0.9
LEAST_SPREAD = 1e-3
LONGEST = 3.0
"""Largest logarithm of an interval's end over its middle: a factor of twenty, assumed."""
DRAWS = 100_000
"""Of the distribution of a further group."""
NEAR = 0.5
"""Distance below which machines are of one chip, or nearly so."""
LEAST_DISTANCE = 0.1
"""Machines of one sheet still are not the same."""
UNMEASURED_WIDENING = 2.0
"""Times the width where no device was ever left out, so that nobody knows how far it carries."""
BORROWED_MACHINES, BORROWED_ROWS = 0.5, 100.0
"""Of all categories together, that a category's own machines and rows stand beside."""


@record
class Band:
    """Quantiles of scores; the interval of a prediction is ``time · exp(spread · [low, high])``."""

    low: float
    high: float

    def around(self, other: Band) -> Band:
        """The narrowest band that holds both."""
        return Band(min(self.low, other.low), max(self.high, other.high))

    def widened(self, factor: float) -> Band:
        """Further from the prediction by a factor; still around it."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        return Band(low * factor, high * factor)


LEVELS = Band((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
"""Quantiles of a distribution that is right."""
FURTHEST_LEVEL = 1e-4
"""Least share of times that is left below an interval, or above it."""
Rings = tuple[tuple[float, Band], ...]
"""Bands of machines at growing distances; linear between two of them."""


@record
class Bands:
    """The bands of one category of kernels.

    Args:
        seen: for machines that were measured.
        apart: for others; empty where no machine was left out.
        levels: of the quantiles where several kernels may be meant.
    """

    seen: Band
    apart: Rings = ()
    levels: Band = LEVELS

    def at(self, distance: float) -> Band:
        """The band at a distance; beyond the furthest ring it widens in proportion."""
        if not self.apart:
            known = self.seen.widened(UNMEASURED_WIDENING)
            return known if distance <= NEAR else known.widened(1 + distance)
        last, furthest = self.apart[-1]
        if distance >= last:
            return furthest.widened(distance / max(last, NEAR)) if distance > NEAR else furthest
        for (start, one), (end, other) in pairwise(self.apart):
            if start < distance < end:
                share = (distance - start) / (end - start)
                return Band(
                    one.low + share * (other.low - one.low),
                    one.high + share * (other.high - one.high),
                )
        return self.apart[0][1]

    def around(self, other: Bands) -> Bands:
        """The narrowest that hold both, at the distances of this one's rings."""
        rings = tuple((d, one.around(other.at(d))) for d, one in self.apart)
        return Bands(self.seen.around(other.seen), rings, self.levels.around(other.levels))


@record
class Calibration:
    """Bands by category of kernels and by how far a machine is from those that were measured.

    Categories have bands of their own, since one quantile for all would hold for none of them
    (Vovk, Lindsay, Nouretdinov and Gammerman, "Mondrian confidence machine", 2003).

    Args:
        bands: of all kernels together.
        power: of the expected spread on machines that were not measured. Where kernels of known
            machines are nearly certain, those of others are not: 0 gives all the same spread.
        categories: bands of each that was measured; any other has the widest of all.
    """

    bands: Bands
    power: float = 1.0
    categories: Mapping[str, Bands] = field(default_factory=dict)

    def of(self, category: str) -> Bands:
        """The bands of a category; the widest where nothing like it was measured."""
        known = self.categories.get(category)
        return known or reduce(Bands.around, self.categories.values(), self.bands)

    def at(self, distance: float, *, measured: bool | None = None) -> Band:
        """The band of all kernels for a machine at this distance from its nearest measured kin.

        Args:
            distance: as `perfc.analyzers.features.distance` gives it; may be 0 for another
                machine whose sheet says the same.
            measured: whether it is one of those measured; by default, whether it is at 0.
        """
        known = measured if measured is not None else distance <= 0
        return self.bands.seen if known else self.bands.at(distance)

    def ends(
        self,
        spread: Array,
        distance: float,
        *,
        measured: bool | None = None,
        category: NDArray[np.intp] | None = None,
        names: Sequence[str] = (),
    ) -> tuple[Array, Array]:
        """Logarithms of an interval's ends over its middle, around 0.

        Never narrower than on a machine that was measured.

        Args:
            spread: expected of each row on such a machine.
            distance: as for `at`.
            measured: likewise.
            category: index into ``names`` of each row; none by default.
            names: of the categories.
        """
        bands = self._bands(names)
        each = np.zeros(len(spread), np.intp) if category is None else category
        seen_low, seen_high = _ends([b.seen for b in bands], each)
        low, high = spread * seen_low, spread * seen_high
        if measured if measured is not None else distance <= 0:
            return low, high
        far_low, far_high = _ends([b.at(distance) for b in bands], each)
        unit = spread**self.power
        return np.minimum(low, unit * far_low), np.maximum(high, unit * far_high)

    def levels(self, category: NDArray[np.intp], names: Sequence[str]) -> tuple[Array, Array]:
        """Quantiles that are the ends of an interval where several kernels may be meant.

        Args:
            category: index into ``names`` of each row.
            names: of the categories.
        """
        bands = [one.levels for one in self._bands(names)]
        low, high = (np.array([getattr(b, end) for b in bands]) for end in ("low", "high"))
        return low[category], high[category]

    def _bands(self, names: Sequence[str]) -> list[Bands]:
        return [self.of(name) for name in names] or [self.bands]


def _ends(bands: Sequence[Band], each: NDArray[np.intp]) -> tuple[Array, Array]:
    """Ends of every row's band, around 0."""
    low = np.array([min(b.low, 0.0) for b in bands])
    high = np.array([max(b.high, 0.0) for b in bands])
    return low[each], high[each]


def band(
    scores: Array,
    weights: Array | None = None,
    coverage: float = COVERAGE,
    count: int | None = None,
) -> Band:
    """The quantiles that leave half the miss on either side.

    Args:
        scores: one a held-out row.
        weights: how much each counts; equal by default.
        coverage: share of further rows that shall lie inside.
        count: of rows that the finite-sample correction is for; all by default.
    """
    level = 1 - (1 - coverage) / 2
    if weights is None:
        weights = np.ones(len(scores))
    count = count or len(scores)
    return Band(-_upper(-scores, weights, level, count), _upper(scores, weights, level, count))


def _upper(scores: Array, weights: Array, level: float, count: int) -> float:
    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    # one more row of mean weight, the one to be predicted, lies above all others
    wanted = level * (cumulated[-1] + cumulated[-1] / count)
    at = min(int(np.searchsorted(cumulated, wanted)), len(scores) - 1)
    return float(scores[order[at]])


def of_category(own: Array, everything: Array, coverage: float = COVERAGE) -> Band:
    """The band of a category's rows beside all others: many rows speak for themselves alone.

    Args:
        own: scores of the category, of which there are some.
        everything: scores of all categories.
        coverage: share of further rows of the category that shall lie inside.
    """
    share = len(own) / (len(own) + BORROWED_ROWS)
    weights = [
        np.full(len(own), share / len(own)),
        np.full(len(everything), (1 - share) / len(everything)),
    ]
    scores = np.concatenate([own, everything])
    return band(scores, np.concatenate(weights), coverage, count=len(own))


Part = tuple[float, "Array"]
"""The level of some scores, and what is left of them."""


def part(scores: Array) -> Part:
    """Scores in two."""
    level = float(np.median(scores))
    return level, scores - level


@dataclass(frozen=True, eq=False)
class Deviations:
    """How scores of a group that nobody has seen are spread, as a machine's.

    A score is the level of its group and what is left within it. Levels are draws of a normal
    distribution around 0 whose spread the groups tell, so that the next one is Student's t with
    as many degrees of freedom as there are groups; what is left is drawn from all groups, every
    one counting the same. With one group alone the band is 2.4 times wider than with ten.

    Source: Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023,
    show that without such an assumption nine groups or fewer promise nothing at 90 %.

    Args:
        scale: root mean square level.
        freedom: groups that say so.
        within: what is left in each part of a group, with its weight.
    """

    scale: float
    freedom: int
    within: tuple[tuple[Array, float], ...]

    @classmethod
    def of(cls, groups: Sequence[Sequence[Part]]) -> Deviations:
        """Of groups in one or several parts with a level each, as the two machines of one chip."""
        squares = [np.mean([level**2 for level, _ in parts]) for parts in groups]
        within = tuple(
            (left, 1 / len(parts) / len(groups)) for parts in groups for _, left in parts
        )
        return cls(float(np.sqrt(np.mean(squares))), len(groups), within)

    def beside(self, everything: Deviations) -> Deviations:
        """Those of a category, where the groups of all categories count a little as well."""
        share = self.freedom / (self.freedom + BORROWED_MACHINES)
        return Deviations(
            math.sqrt(share * self.scale**2 + (1 - share) * everything.scale**2),
            everything.freedom,
            (
                *((left, weight * share) for left, weight in self.within),
                *((left, weight * (1 - share)) for left, weight in everything.within),
            ),
        )

    def band(self, level: float = 1.0, within: float = 1.0, coverage: float = COVERAGE) -> Band:
        """The band that holds a share of the rows of a further group, on average.

        Args:
            level: times the levels.
            within: times what is left within.
            coverage: the share.
        """
        rng = np.random.default_rng(0)
        drawn = level * self.scale * rng.standard_t(self.freedom, DRAWS)
        chosen = rng.choice(len(self.within), DRAWS, p=[weight for _, weight in self.within])
        for index, (left, _) in enumerate(self.within):
            at = np.flatnonzero(chosen == index)
            drawn[at] += within * rng.choice(left, len(at))
        tail = (1 - coverage) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return Band(float(low), float(high))


def sides(low: Array, high: Array) -> Array:
    """Lengths of the box of those trained on; of what never changed, its own size or 1.

    So a family of kernels that no row had widens an interval twofold, not without end.
    """
    size = np.maximum(np.abs(low), np.abs(high))
    found: Array = np.where(high > low, high - low, np.where(size > 0, size, 1.0))
    return found


def excess(
    values: NDArray[np.float32], low: Array, high: Array, side: Array | None = None
) -> Array:
    """How far rows of ``values[rows, features]`` leave the box of those trained on, in its sides.

    The largest over features; 0 inside.
    """
    side = np.maximum(high - low if side is None else side, 1e-6)
    beyond = np.maximum(np.maximum(low - values, values - high), 0) / side
    # single precision must not put a row outside the box it was made from
    found: Array = np.where(beyond < 1e-5, 0.0, beyond).max(axis=1, initial=0.0)
    return found


def coverage_of(time_s: Array, low_s: Array, high_s: Array) -> float:
    """Share of times that lie in their intervals."""
    return float(((time_s >= low_s) & (time_s <= high_s)).mean())
