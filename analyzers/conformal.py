"""Intervals that hold: split conformal prediction, normalised by an expected spread.

Source: Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive Confidence Machines for
Regression", ECML 2002; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-Free
Predictive Inference for Regression", JASA 2018, section 5.2 (locally weighted). A score is
``log(measured / predicted) / spread``, and the interval reaches from its lower to its upper
quantile, each with the finite-sample correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .classes import Array

COVERAGE = 0.9
LEAST_SPREAD = 1e-3
DRAWS = 200_000
"""Of the distribution of a further group."""
NEAR = 0.5
"""Distance below which machines are of one chip, or nearly so."""
UNMEASURED_WIDENING = 2.0
"""Times the width where no device was ever left out, so that nobody knows how far it carries."""


@dataclass(frozen=True)
class Band:
    """Quantiles of scores; the interval of a prediction is ``time · exp(spread · [low, high])``."""

    low: float
    high: float

    def around(self, other: Band) -> Band:
        """The narrowest band that holds both: less is known of a machine further away."""
        return Band(min(self.low, other.low), max(self.high, other.high))

    def widened(self, factor: float) -> Band:
        """Further from the prediction by a factor of at least one; still around it."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        return Band(low * factor, high * factor)


@dataclass(frozen=True)
class Calibration:
    """Bands by how far a machine is from those that were measured.

    Args:
        seen: for machines among them.
        near: for others within ``NEAR`` of one, from machines left out one at a time.
        far: for those further away, from machines left out with all that are near to them.
        reach: distance of the furthest of those from what was left; beyond it the band widens
            in proportion.
        power: of the expected spread on machines that were not measured. Where kernels of known
            machines are nearly certain, those of others are not: 0 gives all the same spread.
    """

    seen: Band
    near: Band | None = None
    far: Band | None = None
    reach: float = 0.0
    power: float = 1.0

    def at(self, distance: float, *, measured: bool | None = None) -> Band:
        """The band for a machine at this distance from its nearest measured kin.

        Args:
            distance: as `perfc.analyzers.distance` gives it; may be 0 for another machine whose
                sheet says the same.
            measured: whether it is one of those measured; by default, whether it is at 0.
        """
        if measured if measured is not None else distance <= 0:
            return self.seen
        if distance <= NEAR:
            return self.near or self.far or self.seen.widened(UNMEASURED_WIDENING)
        if self.far is None:
            known = self.near or self.seen.widened(UNMEASURED_WIDENING)
            return known.widened(1 + distance)
        beyond = distance / max(self.reach, NEAR)
        return self.far if beyond <= 1 else self.far.widened(beyond)

    def ends(
        self, spread: Array, distance: float, *, measured: bool | None = None
    ) -> tuple[Array, Array]:
        """Logarithms of an interval's ends over its middle, around 0.

        Never narrower than on a machine that was measured.

        Args:
            spread: expected of each row on such a machine.
            distance: as for `at`.
            measured: likewise.
        """
        import numpy as np

        low, high = spread * min(self.seen.low, 0.0), spread * max(self.seen.high, 0.0)
        if measured if measured is not None else distance <= 0:
            return low, high
        band, unit = self.at(distance, measured=False), spread**self.power
        return np.minimum(low, unit * band.low), np.maximum(high, unit * band.high)


def band(scores: Array, weights: Array | None = None, coverage: float = COVERAGE) -> Band:
    """The quantiles that leave half the miss on either side.

    Args:
        scores: one a held-out row.
        weights: how much each counts; equal by default.
        coverage: share of further rows that shall lie inside.
    """
    import numpy as np

    tail = (1 - coverage) / 2
    if weights is None:
        weights = np.ones(len(scores))
    return Band(-_upper(-scores, weights, 1 - tail), _upper(scores, weights, 1 - tail))


def _upper(scores: Array, weights: Array, level: float) -> float:
    import numpy as np

    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    # one more row of mean weight, the one to be predicted, lies above all others
    wanted = level * (cumulated[-1] + cumulated[-1] / len(scores))
    at = min(int(np.searchsorted(cumulated, wanted)), len(scores) - 1)
    return float(scores[order[at]])


def of_groups(groups: Sequence[Sequence[Array]], coverage: float = COVERAGE) -> Band:
    """The band of a group nobody has seen, as a machine, from few others, every one left out.

    A score is the level of its group and what is left within it. Levels are draws of a normal
    distribution around 0 whose spread the groups tell, so that the next one is Student's t with
    as many degrees of freedom as there are groups; what is left is drawn from all groups, every
    one counting the same. With one group alone the band is 2.4 times wider than with ten.

    Source: Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023,
    show that without such an assumption nine groups or fewer promise nothing at 90 %.

    Args:
        groups: scores of each, in one or several parts with a level each, as the two machines of
            one chip.
        coverage: share of the rows of a further group that shall lie inside, on average.
    """
    import numpy as np

    levels = [[float(np.median(part)) for part in parts] for parts in groups]
    scale = float(np.sqrt(np.mean([np.mean(np.square(own)) for own in levels])))
    rng = np.random.default_rng(0)
    level = scale * rng.standard_t(len(groups), DRAWS)
    within = np.empty(DRAWS)
    chosen = rng.integers(0, len(groups), DRAWS)
    for group, (parts, own) in enumerate(zip(groups, levels, strict=True)):
        mine = np.flatnonzero(chosen == group)
        part = rng.integers(0, len(parts), len(mine))
        for one, (scores, middle) in enumerate(zip(parts, own, strict=True)):
            at = mine[part == one]
            within[at] = rng.choice(scores, len(at)) - middle
    tail = (1 - coverage) / 2
    low, high = np.quantile(level + within, [tail, 1 - tail])
    return Band(float(low), float(high))


def sides(low: Array, high: Array) -> Array:
    """Lengths of the box of those trained on; of what never changed, its own size or 1.

    So a family of kernels that no row had widens an interval twofold, not without end.
    """
    import numpy as np

    size = np.maximum(np.abs(low), np.abs(high))
    found: Array = np.where(high > low, high - low, np.where(size > 0, size, 1.0))
    return found


def excess(
    values: NDArray[np.float32], low: Array, high: Array, side: Array | None = None
) -> Array:
    """How far rows of ``values[rows, features]`` leave the box of those trained on, in its sides.

    The largest over features; 0 inside.
    """
    import numpy as np

    side = np.maximum(high - low if side is None else side, 1e-6)
    beyond = np.maximum(np.maximum(low - values, values - high), 0) / side
    # single precision must not put a row outside the box it was made from
    found: Array = np.where(beyond < 1e-5, 0.0, beyond).max(axis=1, initial=0.0)
    return found


def coverage_of(time_s: Array, low_s: Array, high_s: Array) -> float:
    """Share of times that lie in their intervals."""
    return float(((time_s >= low_s) & (time_s <= high_s)).mean())
