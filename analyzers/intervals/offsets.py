"""Offsets of a machine from a few of its rows, each pulled towards none.

Bayesian linear regression with Gaussian priors around zero (Lindley & Smith 1972), averaged over
how noisy rows may be by the evidence of each (MacKay, "Bayesian Interpolation", 1992), with
Student's t for the noise, so that rows far from all others count less (Lange, Little & Taylor,
"Robust Statistical Modeling Using the t Distribution", JASA 1989; iteratively reweighted). What is
left of a row if it is left out follows in closed form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfc.ir import entity

from .conformal import LEAST_SPREAD

if TYPE_CHECKING:
    from ..features.classes import Array

NOISES = (0.03, 0.045, 0.06, 0.09, 0.12, 0.18, 0.25, 0.35, 0.5)
"""Standard deviations of noise in logarithms, which the evidence weighs."""
FREEDOM = 4.0
"""Degrees of freedom of Student's t, as Lange, Little and Taylor advise."""
TAIL = 2.132 / 1.645
"""Student's quantile at 95 % for that freedom over the normal distribution's."""
ROUNDS = 3
"""Rounds of reweighting; later ones change the weights of outliers little."""
DEVIATION = 1.4826
"""Standard deviation of a Gaussian over its median absolute value."""
NOISE_DEVIATION = 0.7
"""Prior standard deviation of the logarithm of the noise."""


class Regression(NamedTuple):
    """Posterior under one noise level, for offsets with a prior deviation of one.

    Args:
        mean: mean of the offsets, ``[columns]``.
        covariance: ``[columns, columns]``.
        left: leave-one-out residual of each row, ``[rows]``.
        evidence: logarithm of the marginal likelihood, but for a constant.
    """

    mean: Array
    covariance: Array
    left: Array
    evidence: float


@entity
class Offsets:
    """Posterior of the offsets in logarithms of time.

    Args:
        mean: ``[columns]``.
        covariance: ``[columns, columns]``.
        noise: standard deviation of a Gaussian whose central 90 % are as wide as those of the rows.
        left: leave-one-out residual of each row, ``[rows]``.
    """

    mean: Array
    covariance: Array
    noise: float
    left: Array

    @classmethod
    def learned(
        cls, table: Array, residual: Array, deviations: Array, usual_noise: float | None = None
    ) -> Offsets:
        """Return the posterior after rows were seen; the prior if there are none.

        Args:
            table: what offsets multiply, ``[rows, columns]``.
            residual: ``log(measured / estimated)``, ``[rows]``.
            deviations: deviations of the offsets around zero, ``[columns]``.
            usual_noise: expected before any row is seen; None if all levels are equally likely.
        """
        prior = noise_prior(usual_noise)
        weight = np.ones(len(residual))
        for _ in range(ROUNDS):
            each = [
                regressed(table * deviations * weight[:, None], residual * weight, noise)
                for noise in NOISES
            ]
            evidence = np.array([r.evidence for r in each]) + prior
            share = np.exp(evidence - evidence.max())
            share /= share.sum()
            left = np.tensordot(share, [r.left for r in each], 1) / weight
            spread = DEVIATION * (float(np.median(np.abs(left))) if len(left) else 0.0)
            far = (left / (spread + LEAST_SPREAD)) ** 2
            weight = np.minimum(np.sqrt((FREEDOM + 1) / (FREEDOM + far)), 1.0)
        mean = np.tensordot(share, [r.mean for r in each], 1)
        between = [np.outer(r.mean - mean, r.mean - mean) for r in each]
        covariance = np.tensordot(
            share, [r.covariance + b for r, b in zip(each, between, strict=True)], 1
        )
        noise = TAIL * math.sqrt(float(share @ np.square(NOISES)))
        return cls(mean * deviations, covariance * np.outer(deviations, deviations), noise, left)

    def expected(self, table: Array) -> Array:
        """Return the expected offset in the logarithm of estimates, ``[rows]``."""
        offsets: Array = table @ self.mean
        return offsets

    def deviation(self, table: Array) -> Array:
        """Return the deviation of further rows: machine uncertainty and noise, ``[rows]``."""
        deviations: Array = np.sqrt(
            np.einsum("ij,jk,ik->i", table, self.covariance, table) + self.noise**2
        )
        return deviations


def noise_prior(usual: float | None) -> Array:
    """Return the log prior of each of `NOISES`."""
    if usual is None:
        return np.zeros(len(NOISES))
    log_prior: Array = -0.5 * (np.log(np.array(NOISES) / usual) / NOISE_DEVIATION) ** 2
    return log_prior


def regressed(table: Array, residual: Array, noise: float) -> Regression:
    """Return the offsets of deviation one, under one noise."""
    left, scale, right = np.linalg.svd(table, full_matrices=False)
    seen = left.T @ residual
    variance = scale**2 + noise**2
    weights = scale**2 / variance
    rest = residual - left @ (weights * seen)
    leverage = (left**2) @ weights
    evidence = -0.5 * (
        float(residual @ rest) / noise**2
        + float(np.log(variance).sum())
        + 2 * (len(residual) - len(scale)) * math.log(noise)
    )
    covariance = np.eye(table.shape[1]) - (right.T * weights) @ right
    return Regression(
        right.T @ (scale / variance * seen),
        covariance,
        rest / np.maximum(1 - leverage, 1e-9),
        evidence,
    )
