"""Fits the Gaussian process of whole runs.

Amplitudes, reaches and noise are those under which the runs are likeliest.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 5.8, the
marginal likelihood; equation 5.9, its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..features.distance import squares
from ..runs.run_process import (
    COLUMNS,
    GROUPS,
    LEAST_WIDTH,
    TERMS,
    Aspect,
    RunProcess,
    Runs,
    alike,
    term,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

MOST_BEYOND = 2.0
"""A run that took ``e**2`` times its kernels, or a part of them, counts as that."""
USUAL, SPREAD = np.log(0.1), 2.0
"""Of the logarithm of an amplitude, before any run is seen: its middle and its deviation."""
REACH, REACH_SPREAD = 1.5, 1.0
"""The same of the logarithm of a reach, in standard deviations of the column."""
JITTER = 1e-6
ROWS_OF_GRAPH = 12
"""Most runs of one model that amplitudes and reaches are fitted to."""


@dataclass(frozen=True)
class ProcessRecipe:
    """How it is fitted.

    Args:
        rows: runs that amplitudes and reaches are fitted to; the process knows all.
        steps: most of the optimiser.
        seed: of the draw of those runs.
    """

    rows: int = 500
    steps: int = 60
    seed: int = 0


def fitted_process(runs: Runs, beyond: Array, recipe: ProcessRecipe) -> RunProcess:
    """The process that knows some runs.

    Args:
        runs: places as they are tabulated.
        beyond: ``log(T / sum of kernels)`` of each.
        recipe: how.
    """
    from scipy.optimize import minimize

    beyond = np.clip(beyond, -MOST_BEYOND, MOST_BEYOND)
    deviation, centre = scale(runs.places)
    likely = Likelihood(
        Runs(runs.kinds, ((runs.places - centre) / deviation).astype(np.float32)), beyond
    )
    chosen = drawn(runs, recipe)
    found = minimize(
        likely.take(chosen).minus_log, likely.start(), jac=True, method="L-BFGS-B",
        options={"maxiter": recipe.steps},
    ).x  # fmt: skip
    parameters = Parameters.of(found)
    width = deviation * parameters.reach
    known = Runs(runs.kinds, ((runs.places - centre) / width).astype(np.float16).astype(np.float32))
    process = RunProcess(centre, width, parameters.amplitudes, known, np.zeros(len(beyond)))
    covariance = process.covariance(known)
    covariance[np.diag_indices_from(covariance)] += parameters.noise**2 + JITTER
    weights = np.asarray(np.linalg.solve(covariance, beyond), np.float64)
    return replace(process, weights=weights)


def scale(places: NDArray[np.float32]) -> tuple[Array, Array]:
    """Deviation of each column, infinite where runs do not differ, and its mean.

    Shares of time are all in one unit.
    """
    values = places.astype(np.float64)
    deviation = values.std(axis=0)
    is_same = deviation <= LEAST_WIDTH
    deviation[GROUPS[Aspect.SHARES]] = 1.0
    return np.where(is_same, np.inf, deviation), values.mean(axis=0)


def drawn(runs: Runs, recipe: ProcessRecipe) -> NDArray[np.int64]:
    """Rows of some runs, few of each model."""
    random = np.random.default_rng(recipe.seed)
    order = random.permutation(len(runs.kinds))
    graph = runs.kinds[order, -1]
    place = np.zeros(len(order), np.int64)
    for one in np.unique(graph):
        mine = graph == one
        place[mine] = np.arange(mine.sum())
    some = order[place < ROWS_OF_GRAPH]
    return np.sort(some[: recipe.rows])


@dataclass(frozen=True, eq=False)
class Parameters:
    """What is fitted.

    Args:
        amplitudes: of `TERMS`.
        noise: deviation of what nothing tells.
        reach: of `COLUMNS`, in deviations; machines and shares have one for all their columns.
    """

    amplitudes: Array
    noise: float
    reach: Array

    @classmethod
    def of(cls, logs: Array) -> Parameters:
        """From logarithms: of amplitudes, of the noise, of sizes' reaches, of the other two."""
        count = len(TERMS)
        sizes = GROUPS[Aspect.SIZES].stop
        reach = np.ones(len(COLUMNS))
        reach[:sizes] = np.exp(logs[count + 1 : count + 1 + sizes])
        reach[GROUPS[Aspect.MACHINE]] = np.exp(logs[-2])
        reach[GROUPS[Aspect.SHARES]] = np.exp(logs[-1])
        return cls(np.exp(logs[:count]), float(np.exp(logs[count])), reach)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Of runs, for given logarithms of parameters.

    Args:
        runs: places in deviations.
        beyond: what each took beyond its kernels, as a logarithm.
    """

    runs: Runs
    beyond: Array

    def take(self, chosen: NDArray[np.int64]) -> Likelihood:
        """Of some runs."""
        return Likelihood(self.runs.take(chosen), self.beyond[chosen])

    def start(self) -> Array:
        """Where the search starts."""
        sizes = GROUPS[Aspect.SIZES].stop
        return np.array([USUAL] * (len(TERMS) + 1) + [1.0] * sizes + [0.0, -0.5])

    def minus_log(self, logs: Array) -> tuple[float, Array]:
        """Minus the logarithm of likelihood and of what is believed before, with its gradient."""
        parameters = Parameters.of(logs)
        placed = Runs(self.runs.kinds, (self.runs.places / parameters.reach).astype(np.float32))
        likeness = alike(placed, placed)
        terms = [
            amplitude**2 * term(aspects, likeness)
            for amplitude, aspects in zip(parameters.amplitudes, TERMS, strict=True)
        ]
        rows = len(self.beyond)
        covariance = sum(terms, start=(parameters.noise**2 + JITTER) * np.eye(rows))
        factor = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(covariance)
        weights = inverse @ self.beyond
        value = 0.5 * float(self.beyond @ weights) + float(np.log(np.diag(factor)).sum())
        pull = inverse - np.outer(weights, weights)
        amplitudes = [float((pull * one).sum()) for one in terms]
        noise = parameters.noise**2 * float(np.trace(pull))
        reaches = self._by_reach(placed, likeness, terms, pull)
        gradient = np.array([*amplitudes, noise, *reaches])
        before, slope = believed(logs)
        return value + before, gradient + slope

    def _by_reach(
        self,
        placed: Runs,
        likeness: dict[Aspect, Array],
        terms: list[Array | float],
        pull: Array,
    ) -> list[float]:
        """Gradient by the logarithms of reaches: of every size, of machines and of shares."""
        of = {
            aspect: 0.5 * pull * sum(
                (one for one, aspects in zip(terms, TERMS, strict=True) if aspect in aspects),
                start=np.zeros_like(pull),
            )
            for aspect in GROUPS
        }  # fmt: skip
        sizes = placed.places[:, GROUPS[Aspect.SIZES]].astype(np.float64)
        # d/dlog reach of (1 + a) exp(-a) is 3 exp(-a) times the squared distance in that column
        apart = likeness[Aspect.SIZES]
        root = np.sqrt(3.0 * squares(sizes, sizes))
        slope = of[Aspect.SIZES] / np.maximum(apart, 1e-300) * 3.0 * np.exp(-root)
        found = [_weighed(slope, column) for column in sizes.T]
        for aspect in (Aspect.MACHINE, Aspect.SHARES):
            columns = placed.places[:, GROUPS[aspect]].astype(np.float64)
            found.append(2.0 * float((of[aspect] * squares(columns, columns)).sum()))
        return found


def _weighed(weight: Array, column: Array) -> float:
    """Sum of weights times squared differences of a column."""
    both = weight.sum(axis=0) + weight.sum(axis=1)
    return float(both @ column**2 - 2 * column @ weight @ column)


def believed(logs: Array) -> tuple[float, Array]:
    """Minus the logarithm of what is believed of parameters before, and its gradient."""
    middle = np.full(len(logs), REACH)
    spread = np.full(len(logs), REACH_SPREAD)
    count = len(TERMS) + 1
    middle[:count], spread[:count] = USUAL, SPREAD
    middle[-2:], spread[-2:] = 0.0, SPREAD
    off = (logs - middle) / spread
    return 0.5 * float(off @ off), off / spread
