"""Prediction intervals of whole runs, by whether training rows cover machine and graph.

There are intervals for training machines, for machines with a few rows and for unmeasured machines.
All runs of a machine share an error, so that the half-width for an unmeasured machine combines, in
quadrature, the shared error of held-out machines and the scatter within them (split conformal, over
an expected spread: `perfc.analyzers.intervals.conformal`). Graphs that differ from all training
graphs have a separate interval, from held-out families.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..intervals.conformal import AT_ONCE, COVERAGE, Band, Bands, Unseen, around_zero

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array


@dataclass(eq=False)
class RunBands:
    """Intervals of whole runs, in units of the expected spread.

    Args:
        seen: interval on training machines; two spreads on either side before a fit.
        unseen: intervals on unmeasured machines.
        adapted: interval on a machine with a few rows.
        unfamiliar: interval of graphs without a similar training graph; on other machines such
            graphs have at least this interval.
    """

    # two standard deviations hold 95 % of normal errors, until a fit replaces them
    seen: Band = field(default_factory=lambda: Band(-2.0, 2.0))
    unseen: Unseen | None = None
    adapted: Band | None = None
    unfamiliar: Band | None = None

    def ends(
        self,
        width: Array,
        trained: NDArray[np.bool_],
        moved: NDArray[np.bool_],
        unfamiliar: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, Array]:
        """Return the ends of the intervals relative to the estimates, as logarithms, ``[rows]``.

        Args:
            width: expected spread, ``[rows]``.
            trained: True for rows of machines with training rows.
            moved: True for rows of machines whose offsets were fitted to a few rows.
            unfamiliar: True for graphs without a similar training graph.
        """
        low, high = around_zero(self.seen, width)
        # AT_ONCE is a distance of machines: the least that counts for whole runs
        far = Bands(self.seen, self.unseen).ends(width, AT_ONCE, measured=False)
        # machines without training rows have the interval `far`, unless `adapt` had rows of them
        low, high = (np.where(trained, *pair) for pair in zip((low, high), far, strict=True))
        if self.adapted is not None:
            adapted = around_zero(self.adapted, width)
            low, high = (np.where(moved, *pair) for pair in zip(adapted, (low, high), strict=True))
        if self.unfamiliar is None or unfamiliar is None:
            return low, high
        # never narrower than the interval that the machine alone gives
        furthest = around_zero(self.unfamiliar, width)
        return (
            np.where(unfamiliar, np.minimum(low, furthest[0]), low),
            np.where(unfamiliar, np.maximum(high, furthest[1]), high),
        )


def from_few(scores: Array) -> Band:
    """Return the symmetric interval from the scores of a few held-out rows (split conformal)."""
    # the rank at which one more row of the same kind is covered with probability COVERAGE; with
    # very few rows this rank exceeds their number, and the largest score has to do
    rank = min(int(np.ceil((len(scores) + 1) * COVERAGE)), len(scores))
    half_width = float(np.sort(np.abs(scores))[rank - 1])
    return Band(-half_width, half_width)
