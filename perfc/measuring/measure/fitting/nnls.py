"""Least squares with coefficients that are not negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]

MAX_STEPS = 400


def nnls(a: Matrix, b: Matrix) -> Matrix:
    """The x ≥ 0 that minimises ``|a x - b|``.

    Source: Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23.
    """
    import numpy as np

    n = a.shape[1]
    gram, target = a.T @ a, a.T @ b
    x = np.zeros(n)
    active = np.zeros(n, dtype=bool)
    tolerance = 1e-10 * max(float(np.abs(target).max(initial=0.0)), 1e-300)
    for _ in range(MAX_STEPS):
        gradient = target - gram @ x
        gradient[active] = -np.inf
        j = int(np.argmax(gradient))
        if active.all() or gradient[j] <= tolerance:
            break
        active[j] = True
        while True:
            trial = np.zeros(n)
            block = gram[np.ix_(active, active)]
            trial[active] = np.linalg.lstsq(block, target[active], rcond=None)[0]
            bad = active & (trial <= 0)
            if not bad.any():
                x = trial
                break
            steps = x[bad] / np.maximum(x[bad] - trial[bad], 1e-300)
            x = x + float(steps.min()) * (trial - x)
            active &= x > 1e-300
            x[~active] = 0.0
    return x


def bounded(a: Matrix, b: Matrix, limits: Matrix) -> Matrix:
    """The x between 0 and ``limits`` that about minimises ``|a x - b|``.

    What is above its limit is set to it, and the rest is solved again.
    """
    import numpy as np

    free = np.ones(a.shape[1], dtype=bool)
    x = np.zeros(a.shape[1])
    while free.any():
        x[free] = nnls(a[:, free], b - a[:, ~free] @ x[~free])
        over = free & (x > limits)
        if not over.any():
            break
        x[over] = limits[over]
        free &= ~over
    return x


def robust(
    rows: Sequence[Sequence[float]],
    times: Sequence[float],
    weights: Sequence[float],
    limits: Sequence[float],
) -> list[float]:
    """Coefficients of weighted relative errors, outliers counted less.

    Args:
        rows: quantities of each sample.
        times: to be met.
        weights: weights of the squared errors.
        limits: limits of the coefficients.

    Source: Huber 1964; iteratively reweighted.
    """
    import numpy as np

    a = np.asarray(rows, dtype=np.float64)
    b = np.asarray(times, dtype=np.float64)
    root = np.sqrt(np.asarray(weights, dtype=np.float64))
    scale = np.maximum(np.abs(a * root[:, None]).max(axis=0), 1e-300)
    most = np.asarray(limits, dtype=np.float64) * scale
    x = np.zeros(a.shape[1])
    factor = np.ones(len(b))
    for _ in range(6):
        w = root * np.sqrt(factor)
        x = bounded(a * w[:, None] / scale, b * w, most) / scale
        error = np.abs(a @ x - b) * root
        spread = 1.5 * float(np.median(error)) / 0.6745 + 1e-12
        factor = np.minimum(1.0, spread / np.maximum(error, 1e-300))
    return [float(v) for v in x]
