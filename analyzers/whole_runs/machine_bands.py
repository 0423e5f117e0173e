"""How far estimates reach: of machines trained on, known by a few rows, never measured; of graphs.

Machines err as a whole, each in its own direction: the half-width for one that nobody measured is
the root of two squares, of what machines left out in turn were off by and of what was left within
them (split conformal, over an expected spread: `perfc.analyzers.intervals.conformal`). Graphs that
are built like none trained on have a band of their own, from families left out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..intervals.conformal import AT_ONCE, COVERAGE, LEAST_SPREAD, Band, Bands, Unseen, around_zero
from ..intervals.unseen import LeftOut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

GAUSSIAN = 1.645
"""Deviations that hold nine in ten. Student's quantile would be right for so few machines, but
those left out were estimated by models that had seen one machine fewer, which errs as far."""


@dataclass(eq=False)
class RunBands:
    """Of whole runs: on machines trained on, on others, on one that a few rows are known of.

    ``kinless`` is of graphs without kin on machines trained on; on others they reach as far or
    further.
    """

    seen: Band = field(default_factory=lambda: Band(-2.0, 2.0))
    unseen: Unseen | None = None
    adapted: Band | None = None
    kinless: Band | None = None

    def ends(
        self,
        width: Array,
        trained: NDArray[np.bool_],
        moved: NDArray[np.bool_],
        kinless: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, Array]:
        """Ends of the intervals over the estimates, as logarithms.

        Args:
            width: expected spread, ``[rows]``.
            trained: whether rows of the machine were trained on.
            moved: whether a few rows of the machine are known.
            kinless: whether the graph has no kin among those trained on.
        """
        low, high = around_zero(self.seen, width)
        far = Bands(self.seen, self.unseen).ends(width, AT_ONCE, measured=False)
        low, high = (np.where(trained, *pair) for pair in zip((low, high), far, strict=True))
        if self.adapted is not None:
            near = around_zero(self.adapted, width)
            low, high = (np.where(moved, *pair) for pair in zip(near, (low, high), strict=True))
        if self.kinless is None or kinless is None:
            return low, high
        furthest = around_zero(self.kinless, width)
        return (
            np.where(kinless, np.minimum(low, furthest[0]), low),
            np.where(kinless, np.maximum(high, furthest[1]), high),
        )


def unseen(machines: Sequence[LeftOut]) -> Unseen:
    """From machines left out in turn, each counting the same, and each way of running in it.

    Args:
        machines: categories of their rows are ways of running.
    """
    squares, scores, weights = [], [], []
    for one in machines:
        ways = [one.of(way) for way in np.unique(one.category).tolist()]
        for way in ways:
            left = way.residual - way.shared
            scores.append(np.abs(left) / way.spread)
            weights.append(np.full(len(left), 1 / len(one.residual)))
        squares.append(float(np.mean([way.shared**2 for way in ways])))
    flat, weight = np.concatenate(scores), np.concatenate(weights)
    order = np.argsort(flat)
    at = int(np.searchsorted(np.cumsum(weight[order]), COVERAGE * weight.sum()))
    within = max(float(flat[order[min(at, len(order) - 1)]]), LEAST_SPREAD)
    return Unseen(GAUSSIAN * float(np.sqrt(np.mean(squares))) / within, Band(-within, within))


def from_few(scores: Array) -> Band:
    """From rows left out in turn, so few that no side has quantiles of its own."""
    rank = min(int(np.ceil((len(scores) + 1) * COVERAGE)), len(scores))
    reach = float(np.sort(np.abs(scores))[rank - 1])
    return Band(-reach, reach)
