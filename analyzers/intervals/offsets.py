"""Estimate offsets of a machine from a few of its rows, shrunk towards zero.

Bayesian linear regression with Gaussian priors around zero (Lindley & Smith 1972), averaged over
noise levels by the evidence of each (MacKay, "Bayesian Interpolation", 1992), with Student's t for
the noise, so that outliers count less (Lange, Little & Taylor, "Robust Statistical Modeling Using
the t Distribution", JASA 1989; iteratively reweighted). Leave-one-out residuals follow in closed
form.
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
"""Standard deviations of noise in logarithms, which the evidence weighs: each about 1.4 times the
one before, from repeated runs (3 %) to predictions that explain almost nothing."""
FREEDOM = 4.0
"""Degrees of freedom of Student's t, which Lange, Little and Taylor recommend."""
TAIL = 2.132 / 1.645
"""95 % quantile of Student's t with `FREEDOM` over that of the normal distribution."""
ROUNDS = 3
"""Rounds of reweighting; later ones change the weights of outliers little."""
DEVIATION = 1.4826
"""Standard deviation of a Gaussian over its median absolute value."""
NOISE_DEVIATION = 0.7
"""Prior standard deviation of the logarithm of the noise, a factor of two either way (ln 2)."""


class Regression(NamedTuple):
    """Posterior under one noise level, for offsets with a prior deviation of one.

    Args:
        mean: mean of the offsets, ``[columns]``.
        covariance: covariance of the offsets, ``[columns, columns]``.
        left: leave-one-out residual of each row, ``[rows]``.
        evidence: logarithm of the marginal likelihood, up to a constant.
    """

    mean: Array
    covariance: Array
    left: Array
    evidence: float


@entity
class Offsets:
    """Posterior of the offsets in logarithms of time.

    Args:
        mean: mean of the offsets, ``[columns]``.
        covariance: covariance of the offsets, ``[columns, columns]``.
        noise: standard deviation of a Gaussian whose central 90 % are as wide as those of the noise
            of rows, which has Student's t.
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
        """Return the posterior after some rows; the prior without rows.

        Args:
            table: coefficients of the offsets, ``[rows, columns]``.
            residual: ``log(measured / estimated)``, ``[rows]``.
            deviations: prior deviations of the offsets, ``[columns]``.
            usual_noise: noise level that is expected a priori; None if all are equally likely.
        """
        prior = noise_prior(usual_noise)
        weight = np.ones(len(residual))
        for _ in range(ROUNDS):
            by_noise = [
                regressed(table * deviations * weight[:, None], residual * weight, noise)
                for noise in NOISES
            ]
            # by Bayes' rule, with the largest subtracted so that `exp` does not underflow for all
            evidence = np.array([r.evidence for r in by_noise]) + prior
            probability = np.exp(evidence - evidence.max())
            probability /= probability.sum()
            # rows were multiplied with their weights: the division restores their residuals
            left = np.tensordot(probability, [r.left for r in by_noise], 1) / weight
            spread = DEVIATION * (float(np.median(np.abs(left))) if len(left) else 0.0)
            # weight of a row under Student's t, whose scale is estimated by the median residual
            far = (left / (spread + LEAST_SPREAD)) ** 2
            weight = np.minimum(np.sqrt((FREEDOM + 1) / (FREEDOM + far)), 1.0)
        mean = np.tensordot(probability, [r.mean for r in by_noise], 1)
        # the covariance of a mixture: the mean of its covariances plus the covariance of its means
        between = [np.outer(r.mean - mean, r.mean - mean) for r in by_noise]
        covariance = np.tensordot(
            probability, [r.covariance + b for r, b in zip(by_noise, between, strict=True)], 1
        )
        noise = TAIL * math.sqrt(float(probability @ np.square(NOISES)))
        # back from offsets in units of their prior deviations
        return cls(mean * deviations, covariance * np.outer(deviations, deviations), noise, left)

    def expected(self, table: Array) -> Array:
        """Return the expected offset in the logarithm of estimates, ``[rows]``."""
        offsets: Array = table @ self.mean
        return offsets

    def deviation(self, table: Array) -> Array:
        """Return the standard deviation of further rows, of offsets and noise, ``[rows]``."""
        deviations: Array = np.sqrt(
            np.einsum("ij,jk,ik->i", table, self.covariance, table) + self.noise**2
        )
        return deviations


def noise_prior(usual: float | None) -> Array:
    """Return the logarithm of the prior of each of `NOISES`, up to a constant.

    It is log-normal around the ``usual`` noise, or equal for all without one.
    """
    if usual is None:
        return np.zeros(len(NOISES))
    log_prior: Array = -0.5 * (np.log(np.array(NOISES) / usual) / NOISE_DEVIATION) ** 2
    return log_prior


def regressed(table: Array, residual: Array, noise: float) -> Regression:
    """Return the posterior of offsets with prior deviation one, under one noise level.

    The ridge regression by singular values s of the table: along each singular vector the fit is
    shrunk by ``s² / (s² + noise²)``.
    """
    left, scale, right = np.linalg.svd(table, full_matrices=False)
    projected = left.T @ residual
    variance = scale**2 + noise**2
    shrinkage = scale**2 / variance
    rest = residual - left @ (shrinkage * projected)
    # a row's leverage is its influence on its fitted value; its residual without itself is the
    # residual over 1 - leverage
    leverage = (left**2) @ shrinkage
    evidence = -0.5 * (
        float(residual @ rest) / noise**2
        + float(np.log(variance).sum())
        + 2 * (len(residual) - len(scale)) * math.log(noise)
    )
    covariance = np.eye(table.shape[1]) - (right.T * shrinkage) @ right
    return Regression(
        right.T @ (scale / variance * projected),
        covariance,
        rest / np.maximum(1 - leverage, 1e-9),  # the only row of a column may have leverage 1
        evidence,
    )
