"""Fit the intervals of unmeasured machines to the errors of held-out machines.

Held-out machines are few, and errors of kernels on one machine are correlated. Their common part,
the median residual of a machine, is modeled as normal around 0. Its deviation is estimated from
the machines, so that the common part of a new machine follows Student's t with as many degrees of
freedom as machines. The band is the conformal quantile of errors over expected errors. Machines
have equal weights, and the common part counts with both signs.

Source: Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023. They
show that without such an assumption nine groups or fewer allow no interval at 90 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.intervals.conformal import COVERAGE, LEAST_SPREAD, Band, Unseen, band, grown
from perfc.ir import entity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

LEAST_ROWS = 5
"""Minimum rows of a category on a held-out machine for calibration to use them."""
BORROWED_MACHINES = 0.5
"""Weight of all categories in the calibration of one category, in machines."""


@entity
class LeftOut:
    """Rows of one held-out machine, predicted by a model fitted without it.

    Args:
        distance: distance of the machine from those of the fit.
        residual: ``log(measured / predicted)``, ``[rows]``.
        spread: error that these rows would be expected to have on a machine of the fit, ``[rows]``.
        category: category of each row.
    """

    distance: float
    residual: Array
    spread: Array
    category: NDArray[np.intp]

    def of(self, category: int) -> LeftOut:
        """Return the rows of a category."""
        is_member = self.category == category
        return replace(
            self,
            residual=self.residual[is_member],
            spread=self.spread[is_member],
            category=self.category[is_member],
        )

    @property
    def shared(self) -> float:
        """Return the common part, the median residual, scaled to a machine at distance 1."""
        return float(np.median(self.residual)) / grown(self.distance)

    def scores(self, error: float) -> Array:
        """Return errors over expected errors, then the same with the sign of the median reversed.

        ``error`` is the deviation of common parts at distance 1.
        """
        expected = np.hypot(self.spread, error * grown(self.distance))
        # a new machine may be as much faster as this one is slower
        reversed_sign = self.residual - 2 * np.median(self.residual)
        return np.concatenate([self.residual / expected, reversed_sign / expected])


Groups = Sequence[Sequence[LeftOut]]
"""Groups of held-out rows with equal weights: machines of one chip that are left out together, or
one machine with several sets of others left out."""


def learned(groups: Groups, names: Sequence[str] = ()) -> Mapping[str, Unseen]:
    """Return the intervals of unmeasured machines, by category with enough rows, ``""`` for all.

    Args:
        groups: held-out rows of machines, at least one group.
        names: names of the categories.
    """
    everything = shared_error(groups)
    result = {"": unseen([(groups, 1.0)], everything, len(groups))}
    for index, name in enumerate(names):
        members = of_category(groups, index)
        if members:
            # a category with few machines is mixed with all rows; variances are averaged
            share = len(members) / (len(members) + BORROWED_MACHINES)
            error = float(
                np.hypot(share**0.5 * shared_error(members), (1 - share) ** 0.5 * everything)
            )
            result[name] = unseen([(members, share), (groups, 1 - share)], error, len(members))
    return result


def of_category(groups: Groups, category: int) -> Groups:
    """Return the rows of a category, of the machines with at least `LEAST_ROWS`."""
    parts = [
        [part for machine in group if len((part := machine.of(category)).residual) >= LEAST_ROWS]
        for group in groups
    ]
    return [group for group in parts if group]


def shared_error(groups: Groups) -> float:
    """Return the root mean square of the common parts; groups have equal weights."""
    return float(
        np.sqrt(np.mean([np.mean([machine.shared**2 for machine in group]) for group in groups]))
    )


def unseen(parts: Sequence[tuple[Groups, float]], error: float, freedom: int) -> Unseen:
    """Return the spread of the common part of a new machine, and the band of scores.

    Args:
        parts: sets of groups, each with its share of the weight.
        error: root mean square of the common parts.
        freedom: number of machines that it was estimated from.
    """
    scores, weights = [], []
    for groups, share in parts:
        for group in groups:
            for machine in group:
                scores.append(machine.scores(error))
                rows = len(scores[-1])
                # equal weights of groups, of the machines of a group, and of the rows of a machine
                weights.append(np.full(rows, share / len(groups) / len(group) / rows))
    return Unseen(error * student(freedom), band(np.concatenate(scores), np.concatenate(weights)))


def student(freedom: int) -> float:
    """Return the quantile of Student's t over that of the normal distribution, for 90 %.

    >>> round(student(4), 2), round(student(10), 2)
    (1.3, 1.1)
    """
    from statistics import NormalDist

    from scipy.special import stdtrit

    level = (1 + COVERAGE) / 2
    return float(stdtrit(freedom, level)) / NormalDist().inv_cdf(level)


GAUSSIAN = 1.645
"""Standard deviations of a 90 % interval of the normal distribution. Student's quantile is larger
for few machines. But held-out machines are predicted with one machine less than new ones, so that
their errors are too large by about as much."""


def unseen_runs(machines: Sequence[LeftOut]) -> Unseen:
    """Return the interval of whole runs on unmeasured machines, from held-out machines.

    Machines have equal weights, and so do the execution modes of a machine.

    Args:
        machines: held-out rows; their categories are execution modes.
    """
    squares, scores, weights = [], [], []
    for machine in machines:
        modes = [machine.of(mode) for mode in np.unique(machine.category).tolist()]
        for mode in modes:
            # errors without the common part of the mode, which is modeled separately
            residual = mode.residual - mode.shared
            scores.append(np.abs(residual) / mode.spread)
            weights.append(np.full(len(residual), 1 / len(machine.residual)))
        squares.append(float(np.mean([mode.shared**2 for mode in modes])))
    flat, weight = np.concatenate(scores), np.concatenate(weights)
    # weighted 90 % quantile of absolute errors over expected errors
    order = np.argsort(flat)
    position = int(np.searchsorted(np.cumsum(weight[order]), COVERAGE * weight.sum()))
    half_width = max(float(flat[order[min(position, len(order) - 1)]]), LEAST_SPREAD)
    # a user of the result multiplies the common error by the band, so that it is divided by it here
    return Unseen(
        GAUSSIAN * float(np.sqrt(np.mean(squares))) / half_width, Band(-half_width, half_width)
    )
