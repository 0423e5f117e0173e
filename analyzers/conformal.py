"""Intervals that hold: split conformal prediction, normalised by an expected spread.

Source: Papadopoulos, Proedrou, Vovk and Gammerman, "Inductive Confidence Machines for
Regression", ECML 2002; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-Free
Predictive Inference for Regression", JASA 2018, section 5.2 (locally weighted). A score is
``log(measured / predicted) / spread``, and the interval reaches from its lower to its upper
quantile, each with the finite-sample correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .classes import Array

COVERAGE = 0.9
LEAST_SPREAD = 1e-3
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
    """

    seen: Band
    near: Band | None = None
    far: Band | None = None
    reach: float = 0.0

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


def excess(values: NDArray[np.float32], low: Array, high: Array) -> Array:
    """How far rows of ``values[rows, features]`` leave the box of those trained on, in its sides.

    The largest over features; 0 inside.
    """
    import numpy as np

    side = np.maximum(high - low, 1e-6)
    beyond = np.maximum(np.maximum(low - values, values - high), 0) / side
    # single precision must not put a row outside the box it was made from
    found: Array = np.where(beyond < 1e-5, 0.0, beyond).max(axis=1, initial=0.0)
    return found


def coverage_of(time_s: Array, low_s: Array, high_s: Array) -> float:
    """Share of times that lie in their intervals."""
    return float(((time_s >= low_s) & (time_s <= high_s)).mean())
