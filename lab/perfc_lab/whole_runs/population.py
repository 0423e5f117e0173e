"""Machines as draws from a population: what many have in common is the prior of a new one.

Bayesian linear regression of relative errors with a prior mean and covariance taken from other
machines (Lindley and Smith, "Bayes estimates for the linear model", 1972; empirical Bayes as in
Efron and Morris 1973). Of many rows, the marginal likelihood (Rasmussen and Williams, "Gaussian
Processes for Machine Learning", 2006, Eq. 2.30) chooses the noise. Of a few rows, it weighs several
guesses at noise and freedom, and estimates are averaged over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

NOISES = (0.001, 0.003, 0.01, 0.03, 0.06, 0.12, 0.25)
"""Relative deviations of a row from its machine's estimate that are tried; the likeliest counts."""
FREEDOMS = (0.01, 0.03, 0.1, 0.3)
"""Deviations of a weight from the population's mean that are tried."""
SHARED = 0.5
"""Share of the variance of a weight that all conditions of a machine have in common."""
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the noise of other machines that are tried."""
MULTIPLE_DEVIATION = 0.7
"""Deviation of the logarithm of a multiple before any row is seen: about a factor of two."""
NEGLIGIBLE = 7.0
"""Guesses whose logarithmic evidence is this far behind the best, a thousandth, are left out."""
SHRINKAGE = 2.0
"""Number of a condition's rows that weigh as much as the factor of its machine."""


@dataclass(frozen=True, eq=False)
class KnownCondition:
    """One condition of which many rows were measured: ``y = factor · scale · (x · weights)``.

    ``y`` is the measured value of a run, ``scale`` its roofline time, and ``x`` its row of the
    table of `launch_columns`: features of its launches, weighted by shares of the roofline time.

    Args:
        weights: one per column, ``[columns]``; ``x · weights`` is about 1.
        factor: factor of the scale, about the median of measured over scale.
        noise: deviation of the relative error.
    """

    weights: Array
    factor: float
    noise: float


def learned(table: Array, ratio: Array) -> KnownCondition:
    """Fit a condition to its rows, with a prior of mean 0 and deviation 1 for each weight.

    Args:
        table: ``[rows, columns]``.
        ratio: measured over scale, ``[rows]``, positive.
    """
    factor = float(np.median(ratio))
    # rows divided by their measured values, so that the target of every row is 1
    relative = table * (factor / ratio)[:, None]
    ones = np.ones(len(ratio))
    # one decomposition serves all levels of noise, which only add to the eigenvalues
    values, vectors = np.linalg.eigh(relative.T @ relative)
    values = np.maximum(values, 0.0)  # rounding may leave some below
    rotated = vectors.T @ (relative.T @ ones)
    best, weights = -np.inf, np.zeros(table.shape[1])
    for noise in NOISES:
        # marginal likelihood of y = 1 under XXᵀ + σ²I, by the eigenvalues of XᵀX:
        # yᵀ(XXᵀ + σ²I)⁻¹y = (yᵀy − fit) / σ²
        inverse = 1 / (values + noise**2)
        fit = float(rotated @ (inverse * rotated))
        spread = np.log1p(values / noise**2).sum() + 2 * len(ones) * np.log(noise)
        evidence = -0.5 * ((len(ones) - fit) / noise**2 + spread)
        if evidence > best:
            best, weights = float(evidence), vectors @ (inverse * rotated)
    errors = 1 - relative @ weights
    return KnownCondition(weights, factor, max(float(np.sqrt(np.mean(errors**2))), NOISES[0]))


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of a condition by others.

    Args:
        mean: mean of the weights, ``[columns]``.
        spread: square root of their covariance, ``[columns, others]``; ``[columns, 0]`` if only one
            other condition is known.
        factor: geometric mean of the factors.
        noise: root mean square of the noises.
    """

    mean: Array
    spread: Array
    factor: float
    noise: float

    @classmethod
    def of(cls, others: Sequence[KnownCondition]) -> Prior:
        """Return the prior by at least one condition."""
        weights = np.array([other.weights for other in others])
        mean = weights.mean(axis=0)
        spread = (weights - mean).T / max(len(others) - 1, 1) ** 0.5
        factor = float(np.exp(np.mean([np.log(other.factor) for other in others])))
        noise = float(np.sqrt(np.mean([other.noise**2 for other in others])))
        return cls(mean, spread if len(others) > 1 else spread[:, :0], factor, noise)


@dataclass(frozen=True, eq=False)
class Freedom:
    """One guess at how far a machine leaves the population.

    Args:
        deviation: deviation of a weight.
        inverse: inverse of the covariance of the known rows, ``K⁻¹``.
        weights: weights of the known rows in an estimate, ``K⁻¹ r``.
        noise: multiple of the population's noise.
        evidence: logarithm of the marginal likelihood.
    """

    deviation: float
    inverse: Array
    weights: Array
    noise: float
    evidence: float


@dataclass(frozen=True, eq=False)
class Few:
    """A machine of which a few rows are known; guesses at its freedom count by their evidence.

    Args:
        table: relative rows, ``[few, columns]``.
        group: position of each row's condition in ``priors``.
        priors: priors of the conditions.
        factors: factors of the conditions.
        overall: factor of the machine over that of the priors, for conditions without a row.
        guesses: guesses whose evidence is not negligible.
    """

    table: Array
    group: NDArray[np.int64]
    priors: tuple[Prior, ...]
    factors: Array
    overall: float
    guesses: tuple[Freedom, ...]

    @classmethod
    def of(
        cls, table: Array, ratio: Array, group: NDArray[np.int64], priors: Sequence[Prior]
    ) -> Few:
        """Build it from a few rows.

        Args:
            table: ``[few, columns]``.
            ratio: measured over scale, ``[few]``.
            group: ``[few]``, positions in ``priors``.
            priors: priors of the conditions.
        """
        means = np.array([table[i] @ priors[g].mean for i, g in enumerate(group)])
        factor = np.array([p.factor for p in priors])
        # a mean of fitted weights may be negative, which has no logarithm
        log_errors = np.log(ratio / np.maximum(means * factor[group], 1e-30))
        overall = float(np.median(log_errors))
        counts = np.bincount(group, minlength=len(priors))
        sums = np.bincount(group, log_errors, len(priors))
        # the fewer rows a condition has, the closer its factor is to that of the machine
        factor *= np.exp((sums + SHRINKAGE * overall) / (counts + SHRINKAGE))
        relative = table * (factor[group] / ratio)[:, None]
        errors = 1 - means * factor[group] / ratio
        noise = np.array([p.noise for p in priors])[group]
        plain, spread = parts(relative, group, relative, group, priors)
        guesses = []
        for deviation, multiple in product(FREEDOMS, MULTIPLES):
            gram = deviation**2 * plain + spread + np.diag((multiple * noise) ** 2)
            lower = np.linalg.cholesky(gram)
            whitened = np.linalg.solve(lower, errors)
            # −½ rᵀK⁻¹r − ½ log|K|, by the Cholesky factor of K
            evidence = -0.5 * float(whitened @ whitened) - float(np.log(np.diag(lower)).sum())
            # multiples of the noise far from 1 are unlikely before any row is seen
            evidence -= 0.5 * float(np.log(multiple) / MULTIPLE_DEVIATION) ** 2
            inverse = np.asarray(np.linalg.inv(gram), np.float64)
            guesses.append(Freedom(deviation, inverse, inverse @ errors, multiple, evidence))
        best = max(guess.evidence for guess in guesses)
        likely = tuple(g for g in guesses if g.evidence > best - NEGLIGIBLE)
        return cls(relative, group, tuple(priors), factor, float(np.exp(overall)), likely)

    def __call__(
        self, table: Array, group: NDArray[np.int64], priors: Sequence[Prior]
    ) -> tuple[Array, Array]:
        """Return the estimate of rows and its relative deviation, over their scale.

        Args:
            table: ``[rows, columns]``.
            group: position of each row's condition among the known conditions, followed by those
                of ``priors``.
            priors: priors of conditions without a known row.
        """
        every = (*self.priors, *priors)
        factors = np.array([*self.factors, *(self.overall * p.factor for p in priors)])
        plain, spread = parts(table, group, self.table, self.group, every)
        prior_mean, prior_noise, population_variance = (np.zeros(len(table)) for _ in range(3))
        for g in np.unique(group).tolist():
            is_member = group == g
            prior_mean[is_member] = table[is_member] @ every[g].mean
            prior_noise[is_member] = every[g].noise
            population_variance[is_member] = ((table[is_member] @ every[g].spread) ** 2).sum(axis=1)
        square = (table**2).sum(axis=1)
        # relative to one guess, as the evidence itself may underflow
        weight = np.exp([g.evidence - self.guesses[0].evidence for g in self.guesses])
        # first and second moments of the mixture of guesses
        first, second = np.zeros(len(table)), np.zeros(len(table))
        for guess, share in zip(self.guesses, weight / weight.sum(), strict=True):
            gram = guess.deviation**2 * plain + spread
            expected = prior_mean + gram @ guess.weights
            # variance of the prior, less the part that the known rows explain
            variance = guess.deviation**2 * square + population_variance
            variance -= np.einsum("ij,jk,ik->i", gram, guess.inverse, gram)
            noise = guess.noise * prior_noise * expected
            first += share * expected
            second += share * (np.maximum(variance, 0.0) + noise**2 + expected**2)
        estimate = np.maximum(first, LEAST)
        deviation = np.sqrt(np.maximum(second - first**2, 1e-12)) / estimate
        return factors[group] * estimate, deviation


LEAST = 0.02
"""Minimum of an estimate over its scale: sums of fitted weights may fall to zero or below."""


def parts(
    first: Array,
    first_group: NDArray[np.int64],
    second: Array,
    second_group: NDArray[np.int64],
    priors: Sequence[Prior],
) -> tuple[Array, Array]:
    """Return the covariances between relative estimates of two sets of rows of one machine.

    The first is the covariance by free weights of deviation 1, the second that by the population's
    weights; both are ``[first, second]``.
    """
    same = first_group[:, None] == second_group[None, :]
    plain = np.where(same, 1.0, SHARED) * (first @ second.T)
    spread = np.zeros_like(plain)
    for g in np.intersect1d(first_group, second_group).tolist():
        a, b = np.flatnonzero(first_group == g), np.flatnonzero(second_group == g)
        spread[np.ix_(a, b)] = (first[a] @ priors[g].spread) @ (second[b] @ priors[g].spread).T
    return plain, spread
