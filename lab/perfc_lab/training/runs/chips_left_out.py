"""Whole runs on machines that nobody measured: chips left out in turn, and what they teach.

What a runtime adds to its kernels on one machine may not be what it adds on another, so that what
was learned of others is pooled with the kernels' own estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from perfc.analyzers.features.distance import nearest, place
from perfc.analyzers.intervals.conformal import AT_ONCE
from perfc.analyzers.intervals.unseen import LeftOut
from perfc.analyzers.runs.runtime_runs import ROUNDED, SPREAD_OF

from .measured_runs import MeasuredRun
from .run_stack import RunStack, chips, is_left_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array


class ChipPredictor(Protocol):
    """What was learned of runs."""

    def wrong_unseen(self, stack: RunStack) -> Array:
        """``log(measured / predicted)`` by each of what is pooled, ``[runs, predictions]``."""


@dataclass(frozen=True, eq=False)
class HeldOutChip:
    """Runs of a chip by forests that have not seen it.

    Args:
        distance: of the chip from the nearest other.
        wrong: as `ChipPredictor.wrong_unseen` has it.
        category: runtime of each run.
        rounded: whether each is stored in whole numbers.
    """

    distance: float
    wrong: Array
    category: NDArray[np.int64]
    rounded: NDArray[np.bool_]

    def pooled(self) -> Array:
        """``log(measured / predicted)`` by the mean of all predictions.

        With four chips each left out, equal shares are 24.5 % off, and shares that the other three
        chose for each runtime 26.2 to 27.5 % (lab/notes/runs.md).
        """
        found: Array = self.wrong.mean(axis=1)
        return found


def mixed(wrong: Array, share: Array | float) -> Array:
    """Errors of pooled predictions, from those of both, ``[runs, 2]``.

    Args:
        wrong: of both.
        share: of the second.
    """
    found: Array = (1 - share) * wrong[:, 0] + share * wrong[:, 1]
    return found


def machines_left_out(
    stack: RunStack,
    runs: Sequence[MeasuredRun],
    category: NDArray[np.int64],
    fit: Callable[[RunStack], ChipPredictor],
    say: Callable[[str], None],
) -> list[HeldOutChip]:
    """Chips that are left out one at a time."""
    chip = np.array(chips(runs))
    rounded = np.array([run.stored == ROUNDED for run in runs])
    found = []
    for one in sorted(set(chip)):
        out = chip == one
        if not is_left_out(out):
            continue
        wrong = fit(stack.take(~out)).wrong_unseen(stack.take(out))
        here = place(str(one), SPREAD_OF)
        others = (place(str(n), SPREAD_OF) for n in set(chip) - {one})
        apart = max(nearest(here, others), AT_ONCE)
        found.append(HeldOutChip(apart, wrong, category[out], rounded[out]))
        factors, kernels, process = (percent(column) for column in wrong.T)
        say(f"without {one}: factors {factors}, kernels {kernels}, process {process}")
    return found


def left_out(one: HeldOutChip, usual: Array) -> LeftOut:
    """Runs of a chip as calibration has them; ``usual`` is the error expected by runtime."""
    return LeftOut(one.distance, one.pooled(), usual[one.category], one.category)


def by_precision(one: HeldOutChip, groups: Sequence[LeftOut], names: Sequence[str]) -> LeftOut:
    """Runs of a chip, those in whole numbers in categories of their own after those of runtimes.

    Args:
        one: runs of the chip.
        groups: the same as calibration has them, all in one.
        names: of the runtimes.
    """
    (whole,) = groups
    return replace(whole, category=whole.category + one.rounded * len(names))


def percent(wrong: Array) -> str:
    """Mean error of runs, and how many they are."""
    return f"{np.abs(np.expm1(-wrong)).mean():.1%} of {len(wrong):,}"
