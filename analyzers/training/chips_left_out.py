"""Whole runs on machines that nobody measured: chips left out in turn, and what they teach.

What a runtime adds to its kernels on one machine may not be what it adds on another, so that sums
with learned factors are pooled with those of the kernels' own estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..features.distance import nearest, place
from ..intervals.conformal import AT_ONCE
from ..intervals.unseen import LeftOut
from ..runs.run_table import Network
from ..runs.runtime_runs import ROUNDED, SPREAD_OF, UNLIKE_SHARE
from .measured_runs import MeasuredRun
from .run_stack import RunStack, chips, is_left_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

SHARES = (0.0, 1 / 3, 2 / 3, 1.0)
"""Of the logarithm of the kernels' own sums, that are tried."""


class Forests(Protocol):
    """What was learned of runs."""

    def wrong_unseen(self, stack: RunStack) -> Array:
        """``log(measured / sum)``, with factors of kernels and without, ``[runs, 2]``."""


@dataclass(frozen=True, eq=False)
class Apart:
    """Runs of a chip by forests that have not seen it.

    Args:
        distance: of the chip from the nearest other.
        wrong: as `Forests.wrong_unseen` has it.
        category: runtime of each run.
        network: number of the kind of each.
        rounded: whether each is stored in whole numbers.
    """

    distance: float
    wrong: Array
    category: NDArray[np.int64]
    network: NDArray[np.int64]
    rounded: NDArray[np.bool_]

    def pooled(self, shares: Array) -> Array:
        """``log(measured / predicted)`` with such shares of the kernels' own sums.

        Args:
            shares: ``[runtimes, kinds of networks]``.
        """
        return mixed(self.wrong, shares[self.category, self.network])


def mixed(wrong: Array, share: Array | float) -> Array:
    """Errors of pooled sums, from those with factors of kernels and without, ``[runs, 2]``."""
    found: Array = (1 - share) * wrong[:, 0] + share * wrong[:, 1]
    return found


def machines_left_out(
    stack: RunStack,
    runs: Sequence[MeasuredRun],
    category: NDArray[np.int64],
    fit: Callable[[RunStack], Forests],
    say: Callable[[str], None],
) -> list[Apart]:
    """Chips that are left out one at a time."""
    chip = np.array(chips(runs))
    network = np.array([run.table.network.number for run in runs])
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
        found.append(Apart(apart, wrong, category[out], network[out], rounded[out]))
        sums, kernels = (percent(column) for column in wrong.T)
        say(f"without {one}: {sums}, kernels {kernels}")
    return found


def shares_of_kernels(apart: Sequence[Apart], runtimes: int) -> Array:
    """Share of the kernels' own sums on machines nobody measured, ``[runtimes, networks]``.

    What a runtime adds to its kernels on one machine may not be what it adds on another. The share
    is that of the least mean error over chips, each counting the same.
    """
    found = np.full((runtimes, len(Network)), UNLIKE_SHARE)
    for runtime, network in np.ndindex(found.shape):
        mine = [(one.category == runtime) & (one.network == network) for one in apart]
        wrong = [one.wrong[rows] for one, rows in zip(apart, mine, strict=True) if rows.any()]
        if wrong:
            errors = [np.mean([np.abs(mixed(w, share)).mean() for w in wrong]) for share in SHARES]
            found[runtime, network] = SHARES[int(np.argmin(errors))]
    return found


def left_out(one: Apart, shares: Array, usual: Array) -> LeftOut:
    """Runs of a chip as calibration has them; ``usual`` is the error expected by runtime."""
    return LeftOut(one.distance, one.pooled(shares), usual[one.category], one.category)


def by_precision(one: Apart, groups: Sequence[LeftOut], names: Sequence[str]) -> LeftOut:
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
