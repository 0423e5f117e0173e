"""Fit a Gaussian process of several terms to the logarithm of measured over expected times.

Amplitudes, reaches (length scales) and noise are chosen to make the rows likeliest.
`training.runs.run_fit` and `serving.like` call it; `perfc.analyzers.features.process` evaluates the
result.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 5.8, the
marginal likelihood; equation 5.9, its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.distance import squares
from perfc.analyzers.features.process import (
    Near,
    Process,
    RowPositions,
    SimilarityAspects,
    similarities,
    term,
)

if TYPE_CHECKING:
    from enum import Enum

    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

MOST_BEYOND = 2.0
"""Limit of a logarithm of measured over expected, so that an outlier counts as ``e**2`` at most."""
USUAL, SPREAD = np.log(0.1), 2.0
"""Mean and deviation of the logarithm of an amplitude, and of the noise, before any row is seen."""
REACH, REACH_SPREAD = 1.5, 1.0
"""Mean and deviation of the logarithm of a column's reach, in the column's standard deviations.

A reach that several columns share has mean 0 and deviation `SPREAD`.
"""
JITTER = 1e-6
"""Addend of the diagonal, without which the covariance of equal rows is singular."""
UNLIKELY = 1e10
"""Stands for a negative log-likelihood that cannot be computed, so that the search steps back."""
LEAST_WIDTH = 1e-6
"""Deviation up to which a column counts as constant."""


@dataclass(frozen=True)
class ProcessRecipe:
    """Settings of the fit.

    Args:
        rows: maximum rows that parameters are fitted to; the process itself knows all rows.
        of_model: maximum number of these rows from one model.
        steps: maximum steps of the optimizer.
        seed: seed of the draw of these rows.
    """

    rows: int = 500
    of_model: int = 12
    steps: int = 60
    seed: int = 0


def fitted_process(
    form: SimilarityAspects, rows: RowPositions, beyond: Array, recipe: ProcessRecipe
) -> Process:
    """Return a process with fitted parameters that knows some rows.

    Args:
        form: aspects to compare.
        rows: positions of the rows, in the units of their table.
        beyond: logarithm of measured over expected time, of each row.
        recipe: settings of the fit.
    """
    from scipy.optimize import minimize

    beyond = np.clip(beyond, -MOST_BEYOND, MOST_BEYOND)
    deviation, centre = scale(form, rows.places)
    likely = Likelihood(
        form,
        RowPositions(rows.kinds, ((rows.places - centre) / deviation).astype(np.float32)),
        beyond,
    )
    chosen = drawn(rows, recipe)
    likeliest = minimize(
        likely.take(chosen).minus_log,
        likely.start(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": recipe.steps},
    ).x
    parameters = FittedParameters.of(form, likeliest)
    process = Process(
        form,
        centre,
        deviation * parameters.reach,
        parameters.amplitudes,
        rows.take(np.zeros(0, np.int64)),
        np.zeros(0),
        parameters.noise,
    )
    return conditioned(process, rows, beyond)


def conditioned(process: Process, rows: RowPositions, beyond: Array) -> Process:
    """Return a process with the same parameters that knows other rows.

    Args:
        process: process whose parameters are fitted.
        rows: positions of the rows, in the units of their table.
        beyond: logarithm of measured over expected time, of each row.
    """
    beyond = np.clip(beyond, -MOST_BEYOND, MOST_BEYOND)
    # rounded to f16 as in the file, so that the weights fit the places that are read from it
    places = process.placed(rows).places.astype(np.float16).astype(np.float32)
    positions = RowPositions(rows.kinds, places)
    covariance = process.covariance(positions, positions)
    covariance[np.diag_indices_from(covariance)] += process.noise**2 + JITTER
    # the mean of the process at a new place is its covariance with the rows times the weights
    weights = np.asarray(np.linalg.solve(covariance, beyond), np.float64)
    return replace(process, known=positions, weights=weights)


def scale(form: SimilarityAspects, places: NDArray[np.float32]) -> tuple[Array, Array]:
    """Return the deviation of each column, infinite where rows do not differ, and its mean.

    Columns in one unit have deviation 1, so that a new row may differ in a column that is constant
    in the known rows. The column of a share has mean 0, as shares are not moved.
    """
    values = places.astype(np.float64)
    deviation = values.std(axis=0)
    deviation = np.where(deviation <= LEAST_WIDTH, np.inf, deviation)
    centre = values.mean(axis=0)
    for near in form.near.values():
        if near.is_one_unit:
            deviation[near.columns] = 1.0
        if near.is_share:
            centre[near.columns] = 0.0
    return deviation, centre


def drawn(rows: RowPositions, recipe: ProcessRecipe) -> NDArray[np.int64]:
    """Return the positions of randomly sampled rows, at most ``of_model`` per model."""
    random = np.random.default_rng(recipe.seed)
    order = random.permutation(len(rows.kinds))
    # the last kind of a row is its model
    model = rows.kinds[order, -1]
    # number of rows of its model before each row
    rank = np.zeros(len(order), np.int64)
    for number in np.unique(model):
        is_member = model == number
        rank[is_member] = np.arange(is_member.sum())
    sample = order[rank < recipe.of_model]
    return np.sort(sample[: recipe.rows])


def reaches(form: SimilarityAspects) -> list[tuple[Near, slice]]:
    """Return the slice of each aspect's length scales in the vector of fitted parameters.

    Length scales follow the amplitudes and the noise.
    """
    start = len(form.terms) + 1
    slices: list[tuple[Near, slice]] = []
    for near in form.near.values():
        # a share is no distance and has no reach
        if near.is_share:
            continue
        count = near.columns.stop - near.columns.start if near.has_each else 1
        slices.append((near, slice(start, start + count)))
        start += count
    return slices


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """Hyperparameters of a Gaussian process that are fitted.

    Args:
        amplitudes: amplitude of each term of the kernel.
        noise: standard deviation of the unexplained residual.
        reach: length scale of each column, in standard deviations.
    """

    amplitudes: Array
    noise: float
    reach: Array

    @classmethod
    def of(cls, form: SimilarityAspects, logs: Array) -> FittedParameters:
        """Return the parameters with these logarithms: amplitudes, noise, length scales."""
        count = len(form.terms)
        reach = np.ones(form.columns)
        for near, part in reaches(form):
            reach[near.columns] = np.exp(logs[part])
        return cls(np.exp(logs[:count]), float(np.exp(logs[count])), reach)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Likelihood of rows, for given logarithms of parameters.

    Args:
        form: aspects to compare.
        rows: positions in standard deviations.
        beyond: logarithm of measured over expected time, of each row.
    """

    form: SimilarityAspects
    rows: RowPositions
    beyond: Array

    def take(self, chosen: NDArray[np.int64]) -> Likelihood:
        """Return the likelihood of some rows."""
        return Likelihood(self.form, self.rows.take(chosen), self.beyond[chosen])

    def start(self) -> Array:
        """Return the logarithms of parameters from which the search starts."""
        logs = [USUAL] * (len(self.form.terms) + 1)
        for near, part in reaches(self.form):
            logs += [near.start] * (part.stop - part.start)
        return np.array(logs)

    def minus_log(self, logs: Array) -> tuple[float, Array]:
        """Return minus the logarithm of likelihood and prior, with its gradient."""
        parameters = FittedParameters.of(self.form, logs)
        placed = RowPositions(
            self.rows.kinds, (self.rows.places / parameters.reach).astype(np.float32)
        )
        similarity = similarities(self.form, placed, placed)
        terms = [
            amplitude**2 * term(aspects, similarity)
            for amplitude, aspects in zip(parameters.amplitudes, self.form.terms, strict=True)
        ]
        count = len(self.beyond)
        covariance = sum(terms, start=(parameters.noise**2 + JITTER) * np.eye(count))
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            # reaches so short that distances are rounding alone
            return UNLIKELY, np.zeros_like(logs)
        inverse = np.linalg.inv(covariance)
        weights = inverse @ self.beyond
        # ½ yᵀK⁻¹y + ½ log|K|, the determinant from the diagonal of the Cholesky factor
        value = 0.5 * float(self.beyond @ weights) + float(np.log(np.diag(factor)).sum())
        # gradient: ½ tr((K⁻¹ − wwᵀ) ∂K), where ∂K by the log of an amplitude is twice its term
        pull = inverse - np.outer(weights, weights)
        amplitudes = [float((pull * covariance_term).sum()) for covariance_term in terms]
        noise = parameters.noise**2 * float(np.trace(pull))
        by_reach = self._by_reach(placed, similarity, terms, pull)
        gradient = np.array([*amplitudes, noise, *by_reach])
        before, slope = believed(self.form, logs)
        return value + before, gradient + slope

    def _by_reach(
        self,
        placed: RowPositions,
        similarity: dict[Enum, Array],
        terms: list[Array | float],
        pull: Array,
    ) -> list[float]:
        """Return the gradient by the logarithms of reaches."""
        slopes: list[float] = []
        for aspect, near in self.form.near.items():
            if near.is_share:
                continue
            # only terms with this aspect depend on its reach
            among = (
                value for value, term in zip(terms, self.form.terms, strict=True) if aspect in term
            )
            weight = 0.5 * pull * sum(among, start=np.zeros_like(pull))
            columns, squared = placed.part(near.columns)
            square = squares(columns, squared, columns, squared)
            if not near.has_each:
                # of the similarity, the part above ``shared`` depends on the distance
                by_distance = (1.0 - near.shared) * np.exp(-square)
                by_distance /= np.maximum(similarity[aspect], 1e-300)
                # with a as the distance, d/dlog reach of exp(-a²) is 2 a² exp(-a²)
                slopes.append(2.0 * float((weight * square * by_distance).sum()))
                continue
            # with a = √3 times the distance, d/dlog reach of (1 + a) exp(-a) is 3 exp(-a) times the
            # squared distance in that column
            by_square = (
                weight
                / np.maximum(similarity[aspect], 1e-300)
                * 3.0
                * np.exp(-np.sqrt(3.0 * square))
            )
            slopes += [_weighed(by_square, column) for column in columns.T]
        return slopes


def _weighed(weight: Array, column: Array) -> float:
    """Return ``Σ wᵢⱼ (cᵢ − cⱼ)²`` over pairs of rows, without a matrix of differences."""
    sums = weight.sum(axis=0) + weight.sum(axis=1)
    return float(sums @ column**2 - 2 * column @ weight @ column)


def believed(form: SimilarityAspects, logs: Array) -> tuple[float, Array]:
    """Return minus the logarithm of the prior of parameters, and its gradient."""
    middle, spread = np.full(len(logs), USUAL), np.full(len(logs), SPREAD)
    for near, part in reaches(form):
        middle[part], spread[part] = (REACH, REACH_SPREAD) if near.has_each else (0.0, SPREAD)
    standardised = (logs - middle) / spread
    return 0.5 * float(standardised @ standardised), standardised / spread
