"""Convergence of a training, and the order of our results against a paper's column.

The page has a verdict for each column with two numbers of the paper or more.
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
"""Share of the extrapolated error in the reached one from which a training counts as converged."""
REPEATED_SHARE = 0.5
"""The same share from which a longer training is expected to converge."""
LEAST_EPOCHS = 20
"""Fewer epochs have no curve to extrapolate."""
LEAST_SEEDS = 2
"""Seeds of each line that an order needs."""
LEAST_AGREEMENT = 0.8
"""Share of the decided pairs that must agree with the paper's order, or disagree."""
MOST_DECAY = 0.7
"""Gain of a doubling of the epochs over the gain of the one before, at most: an error that falls
with the square root of the epochs."""


class OrderVerdict(Enum):
    """Outcome of a column against the paper's."""

    REPRODUCED = "reproduced"
    REVERSED = "order reversed"
    NOT_COMPARABLE = "not comparable"


@frozen
class Convergence:
    """Convergence of a training.

    Args:
        epochs: epochs that were run.
        planned: epochs of the recipe, or of the line of the table.
        reached: least validation error.
        expected: that error after all planned epochs, extrapolated; NaN where no curve allows it.
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
    """Return how far the training of a result came; None without epochs, as of trees."""
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
    """Return the least error after more epochs, from the gains of the last two doublings.

    Each further doubling gains a constant part of the gain before, as a power law of the epochs
    with an offset does. NaN for fewer than `LEAST_EPOCHS` errors.

    Args:
        errors: validation error of each epoch.
        epochs: number of epochs to extrapolate to.

    >>> errors = [0.1 + 1 / epoch for epoch in range(1, 65)]
    >>> round(extrapolated(errors, 256), 4)
    0.1039
    """
    # validation errors go up and down: the weights of the best epoch so far are what stays
    best = list(accumulate(errors, min))
    count = len(best)
    if count < LEAST_EPOCHS:
        return math.nan
    first, second, last = best[count // 4 - 1], best[count // 2 - 1], best[-1]
    earlier, gain = first - second, second - last
    decay = min(gain / earlier, MOST_DECAY) if earlier > 0 else MOST_DECAY
    doublings = max(math.log2(epochs / count), 0.0)
    # gain · (decay + decay² + … ), a geometric series of as many terms as doublings are left
    further = gain * decay * (1 - decay**doublings) / (1 - decay) if gain > 0 else 0.0
    return max(last - further, 0.0)


def verdict(
    published: Sequence[float | None], measured: Sequence[Sequence[float]]
) -> tuple[OrderVerdict, str]:
    """Return whether lines have the order of the paper's column, and why.

    Pairs of lines count whose ranges over the seeds do not overlap. The order is the paper's if
    `LEAST_AGREEMENT` of them agree, and reversed if as many disagree.

    Args:
        published: the paper's number of each line; None where it has none.
        measured: our numbers of each line, one per seed; empty without an adequate training.
    """
    lines = [(p, f) for p, f in zip(published, measured, strict=True) if p is not None]
    if len(lines) < 2:
        return OrderVerdict.NOT_COMPARABLE, "the paper has no second line"
    if any(not f for _, f in lines):
        return OrderVerdict.NOT_COMPARABLE, "trainings are not converged"
    if any(len(f) < LEAST_SEEDS for _, f in lines):
        return OrderVerdict.NOT_COMPARABLE, "one seed has no range"
    # +1 for a pair of lines in the paper's order, -1 for one in the other
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
