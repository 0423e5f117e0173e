"""Offsets of a machine from a few of its rows, each pulled towards none.

Bayesian linear regression with Gaussian priors around zero (Lindley & Smith 1972), averaged over
how noisy rows may be by the evidence of each (MacKay, "Bayesian Interpolation", 1992), with
Student's t for the noise, so that rows far from all others count less (Lange, Little & Taylor,
"Robust Statistical Modeling Using the t Distribution", JASA 1989; iteratively reweighted). What is
left of a row if it is left out follows in closed form.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..intervals.conformal import LEAST_SPREAD
from ..steps.setting import Mode, Precision
from .kernel_sums import KINDS
from .pooled import SHARES_START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.rows import Measurements

MACHINE, UNTRAINED, WAY, KIND = 0.25, 0.5, 0.05, 0.2
"""Deviations of offsets: of a machine, of a way of running that nothing was trained on, of others,
of a kind of launches. Round figures, chosen on machines left out among those trained on."""
NOISES = (0.03, 0.045, 0.06, 0.09, 0.12, 0.18, 0.25)
FREEDOM = 4.0
"""Of Student's t, as Lange, Little and Taylor advise."""
ROUNDS = 3
DEVIATION = 1.4826
"""Of a Gaussian over its median absolute value."""
LOG_BATCHES = 8.0
"""Doublings of the batch over which an offset may grow by as much as that of a way."""
NEW, SECOND = (2, 9), (2, 0)
"""Versions of the framework from which on others of its kernels run."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Offsets of the logarithm.

    Args:
        offsets: ``[columns]``.
    """

    offsets: Array

    def __call__(self, table: Array) -> Array:
        """What to add to the logarithm of estimates, ``[rows]``."""
        found: Array = table @ self.offsets
        return found

    @classmethod
    def learned(cls, table: Array, residual: Array, deviations: Array) -> tuple[Shift, Array]:
        """Offsets, and what of each row's residual is left if it is left out.

        Args:
            table: ``[rows, columns]``.
            residual: ``log(measured / estimated)``, ``[rows]``.
            deviations: of the offsets around zero, ``[columns]``.
        """
        weight = np.ones(len(residual))
        offsets, left = np.zeros(table.shape[1]), residual
        for _ in range(ROUNDS):
            scaled = table * deviations * weight[:, None]
            offsets, left = averaged(scaled, residual * weight)
            left = left / weight
            spread = DEVIATION * float(np.median(np.abs(left))) + LEAST_SPREAD
            far = (left / spread) ** 2
            weight = np.minimum(np.sqrt((FREEDOM + 1) / (FREEDOM + far)), 1.0)
        return cls(offsets * deviations), left


def averaged(table: Array, residual: Array) -> tuple[Array, Array]:
    """Offsets of deviation one, and what is left of each row without it, over all `NOISES`."""
    found = [regressed(table, residual, noise) for noise in NOISES]
    evidence = np.array([e for _, _, e in found])
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    offsets = sum(w * one for w, (one, _, _) in zip(share, found, strict=True))
    left = sum(w * one for w, (_, one, _) in zip(share, found, strict=True))
    return np.asarray(offsets), np.asarray(left)


def regressed(table: Array, residual: Array, noise: float) -> tuple[Array, Array, float]:
    """Offsets of deviation one, what is left of each row without it, and the log evidence."""
    left, scale, right = np.linalg.svd(table, full_matrices=False)
    seen = left.T @ residual
    variance = scale**2 + noise**2
    kept = scale**2 / variance
    rest = residual - left @ (kept * seen)
    leverage = (left**2) @ kept
    evidence = -0.5 * (
        float(residual @ rest) / noise**2
        + float(np.log(variance).sum())
        + 2 * (len(residual) - len(scale)) * np.log(noise)
    )
    return right.T @ (scale / variance * seen), rest / np.maximum(1 - leverage, 1e-9), evidence


def design(data: Measurements, features: NDArray[np.float32]) -> Array:
    """What offsets multiply: one, batches, ways of running, and shares of kinds of launches."""
    settings = [r.setting for r in data.rows]
    columns = [np.ones(len(data)), np.log2([r.batch for r in data.rows]) / LOG_BATCHES]
    columns += [np.array([float(s.mode is m) for s in settings]) for m in Mode]
    columns += [np.array([float(s.precision is p) for s in settings]) for p in Precision]
    columns += [np.array([float(s.version >= v) for s in settings]) for v in (NEW, SECOND)]
    shares = features[:, SHARES_START : SHARES_START + KINDS].astype(np.float64)
    return np.column_stack([*columns, shares])


def deviations(trained: Collection[str]) -> Array:
    """Of the offsets of `design`.

    Args:
        trained: names of ways of running that something was trained on.
    """
    modes = [WAY if m.value in trained else UNTRAINED for m in Mode]
    return np.array([MACHINE, WAY, *modes, *[WAY] * (len(Precision) + 2), *[KIND] * KINDS])
