"""Whole runs on unseen machines: each chip and all newer ones are held out in turn.

What a runtime adds to its kernels on one machine may not be what it adds on another. So factors
that were fitted on other machines are pooled with the kernels' own estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from perfc.analyzers.features.distance import nearest, place
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.intervals.conformal import AT_ONCE
from perfc.analyzers.intervals.unseen import LeftOut
from perfc.analyzers.runs.runtime_runs import ROUNDED, SPREAD_OF
from perfc.machine import load_machine

from .measured_runs import MeasuredRun
from .run_stack import RunStack, chips, is_left_out, sums_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.artefacts.forest import Forest
    from perfc.analyzers.features.classes import Array

LEAST_CHIPS = 2
"""Chips that factors for a newer one are fitted on; the oldest chips are held out alone."""


@dataclass(frozen=True, eq=False)
class HeldOutChip:
    """Runs of a chip, predicted by factors that were fitted on other chips.

    Args:
        distance: distance of the chip to the nearest of those.
        wrong: residuals by the factors and by the kernels alone, ``[runs, 2]``.
        category: runtime of each run.
        rounded: True for each run in 8-bit integers.
    """

    distance: float
    wrong: Array
    category: NDArray[np.int64]
    rounded: NDArray[np.bool_]

    def pooled(self) -> Array:
        """Return the residual of the geometric mean of factors and kernels, ``[runs]``.

        Of twelve ways to pool factors, kernels, the process of similar runs and a linear model, it
        is the one that was nearer than the kernels on every chip (lab/notes/runs.md).
        """
        return cast("Array", self.wrong.mean(axis=1))


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
    fit: Callable[[RunStack], Forest],
    say: Callable[[str], None],
) -> list[HeldOutChip]:
    """Return every chip with enough runs, held out with all newer chips.

    Args:
        stack: all runs.
        runs: the same as rows.
        category: runtime of each run.
        fit: fits the factors of kernels.
        say: reports progress.
    """
    chip = np.array(chips(runs))
    rounded = np.array([run.stored == ROUNDED for run in runs])
    result = []
    for one in sorted(set(chip)):
        out, others = chip == one, training_chips(str(one), set(chip))
        train = np.isin(chip, sorted(others))
        if not is_left_out(out) or not train.any():
            continue
        tested = stack.take(out)
        sums_s = np.stack([sums_of(fit(stack.take(train)), tested.launches), tested.kernels_s], 1)
        wrong = np.log(tested.launches.time_s[:, None] / sums_s)
        here = place(str(one), SPREAD_OF)
        separation = max(nearest(here, tuple(place(str(n), SPREAD_OF) for n in others)), AT_ONCE)
        result.append(HeldOutChip(separation, wrong, category[out], rounded[out]))
        factors, kernels = (percent(column) for column in wrong.T)
        say(f"without {one} and newer: factors {factors}, kernels {kernels}")
    return result


def training_chips(chip: str, names: Collection[str]) -> set[str]:
    """Return the chips that are not newer than a held-out one; all others if those are few."""
    generation = {n: Sheet(load_machine(n)).generation for n in names}
    older = {n for n in names if n != chip and generation[n] <= generation[chip]}
    return older if len(older) >= LEAST_CHIPS else set(names) - {chip}


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
