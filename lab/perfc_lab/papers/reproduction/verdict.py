"""Judge whether a training has converged, and whether results have the order of a paper's column.

The page has a verdict for each column with two published numbers or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import accumulate, combinations
from statistics import mean
from typing import Any

from perfc.ir.record import frozen

Result = Mapping[str, Any]
LEAST_SHARE = 0.8
"""Minimum ratio of the extrapolated error to the reached one for a training to count as
converged."""
REPEATED_SHARE = 0.5
"""Minimum of the same ratio for a longer training to be expected to converge."""
LEAST_EPOCHS = 20
"""Minimum epochs of a curve that is extrapolated."""
LEAST_SEEDS = 2
"""Minimum seeds of each line for an order, as one seed has no range."""
LEAST_AGREEMENT = 0.8
"""Share of the decided pairs of lines that must agree with the paper's order, or disagree, for a
verdict."""
MOST_DECAY = 0.7
"""Maximum ratio of the gains of two successive doublings of the epochs: that of an error which
falls with the square root of the epochs, 2^-0.5."""


class OrderVerdict(Enum):
    """Outcome of the order of lines in a column, against the paper's order."""

    REPRODUCED = "reproduced"
    REVERSED = "order reversed"
    NOT_COMPARABLE = "not comparable"


@frozen
class Convergence:
    """Progress of a training towards its final error.

    Args:
        epochs: number of epochs that were run.
        planned: epochs of the recipe, or of the line of the table.
        reached: smallest validation error.
        expected: extrapolated validation error after all planned epochs; NaN for a short curve.
    """

    epochs: int
    planned: int
    reached: float
    expected: float

    @property
    def is_adequate(self) -> bool:
        """Return True if training is complete or within `LEAST_SHARE` of the extrapolated error."""
        return self.epochs >= self.planned or self.expected >= LEAST_SHARE * self.reached

    @property
    def is_near(self) -> bool:
        """Return True if a training of a few times the length is expected to be adequate."""
        return self.expected >= REPEATED_SHARE * self.reached


def convergence(result: Result) -> Convergence | None:
    """Return the convergence of a result's training; None without epochs, as for trees."""
    errors = [float(e) for e in result.get("validation", ()) if math.isfinite(float(e))]
    if not errors:
        return None
    planned = int(result.get("planned_epochs") or len(errors))
    return Convergence(len(errors), planned, min(errors), extrapolated(errors, planned))


def is_adequate(result: Result) -> bool:
    """Return True if a result's training is long enough to stand for the paper's."""
    came = convergence(result)
    return came is None or came.is_adequate


def extrapolated(errors: Sequence[float], epochs: int) -> float:
    """Return the smallest error after more epochs, from the gains of the last two doublings.

    The gain of each further doubling is a constant part of the gain before, as for a power law of
    the epochs with an offset. NaN for fewer than `LEAST_EPOCHS` errors.

    Args:
        errors: validation error of each epoch.
        epochs: number of epochs to extrapolate to.

    >>> errors = [0.1 + 1 / epoch for epoch in range(1, 65)]
    >>> round(extrapolated(errors, 256), 4)
    0.1039
    """
    # validation errors go up and down, and a training ends with the weights of its best epoch
    best = list(accumulate(errors, min))
    count = len(best)
    if count < LEAST_EPOCHS:
        return math.nan
    # errors after a quarter, a half and all of the epochs
    first, second, last = best[count // 4 - 1], best[count // 2 - 1], best[-1]
    earlier, gain = first - second, second - last
    decay = min(gain / earlier, MOST_DECAY) if earlier > 0 else MOST_DECAY
    doublings = max(math.log2(epochs / count), 0.0)
    # gain · (decay + decay² + … ), a geometric series with a term for each remaining doubling
    further = gain * decay * (1 - decay**doublings) / (1 - decay) if gain > 0 else 0.0
    return max(last - further, 0.0)


def verdict(
    published: Sequence[float | None], measured: Sequence[Sequence[float]]
) -> tuple[OrderVerdict, str]:
    """Return the verdict on the order of lines in a column, and its cause in words.

    A pair of lines is decided if their ranges over the seeds do not overlap. The order is the
    paper's if `LEAST_AGREEMENT` of the decided pairs agree, and reversed if so many disagree.

    Args:
        published: published number of each line; None without one.
        measured: numbers of each line, one for each seed; empty without an adequate training.
    """
    lines = [(p, f) for p, f in zip(published, measured, strict=True) if p is not None]
    if len(lines) < 2:
        return OrderVerdict.NOT_COMPARABLE, "the paper has no second line"
    if any(not f for _, f in lines):
        return OrderVerdict.NOT_COMPARABLE, "trainings are not converged"
    if any(len(f) < LEAST_SEEDS for _, f in lines):
        return OrderVerdict.NOT_COMPARABLE, "one seed has no range"
    # +1 for a pair of lines in the paper's order, -1 for a pair in the reverse order
    decided = [
        math.copysign(1.0, (p - q) * (mean(f) - mean(g)))
        for (p, f), (q, g) in combinations(lines, 2)
        if p != q and (max(f) < min(g) or max(g) < min(f))
    ]
    if not decided:
        return OrderVerdict.NOT_COMPARABLE, "differences are within those of the seeds"
    agree = sum(sign > 0 for sign in decided)
    words = f"{agree} of {len(decided)} pairs in the paper's order"
    if max(agree, len(decided) - agree) < LEAST_AGREEMENT * len(decided):
        return OrderVerdict.NOT_COMPARABLE, words
    return OrderVerdict.REPRODUCED if 2 * agree > len(decided) else OrderVerdict.REVERSED, words
