"""Find the warm-up of a simulated series and the confidence interval of its mean.

Sources: White, An effective truncation heuristic for bias reduction in simulation output
(Simulation 69, 1997), for MSER; Schmeiser, Batch size effects in the analysis of simulation output
(Operations Research 30, 1982), for batch means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.ir import record

MSER_BATCH = 5
"""Batch size of MSER-5."""
STUDENT_95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
)
"""Two-sided 95 % quantiles of Student's t distribution, from one degree of freedom up."""


@record
class ConfidenceInterval:
    """Mean of a steady series with its confidence interval.

    Args:
        mean: mean of all values.
        half_width: half-width of its 95 % interval relative to the mean; infinite for fewer than
            two batches.
    """

    mean: float
    half_width: float


def batch_means(values: Sequence[float], batch: int) -> list[float]:
    """Return the means of consecutive whole batches of values."""
    whole = len(values) - len(values) % batch
    return [math.fsum(values[i : i + batch]) / batch for i in range(0, whole, batch)]


def warm_up(values: Sequence[float]) -> int:
    """Return the number of leading values that MSER leaves out: whole batches, at most half."""
    means = batch_means(values, MSER_BATCH)
    total = squares = 0.0
    scores: list[float] = []
    for count, mean in enumerate(reversed(means), 1):
        total += mean
        squares += mean * mean
        # MSER: estimated squared error of the mean of the values left after truncation
        scores.append((squares - total * total / count) / count**2)
    # the score of each truncation, starting with none; at most half of the series is left out
    allowed = scores[::-1][: len(means) // 2 + 1]
    return allowed.index(min(allowed)) * MSER_BATCH if allowed else 0


def interval(values: Sequence[float], batch: int) -> ConfidenceInterval:
    """Return the mean of values and its relative half-width, from means of batches."""
    means = batch_means(values, batch)
    mean = math.fsum(values) / len(values)
    if len(means) < 2:
        return ConfidenceInterval(mean, math.inf)
    freedom = len(means) - 1
    centre = math.fsum(means) / len(means)
    variance = math.fsum([(m - centre) ** 2 for m in means]) / freedom
    # beyond the table: the normal quantile z and its first correction, (z^3 + z) / 4 = 2.4 over the
    # degrees of freedom, rounded up for further terms
    factor = STUDENT_95[freedom - 1] if freedom <= len(STUDENT_95) else 1.96 + 2.5 / freedom
    return ConfidenceInterval(
        mean, factor * math.sqrt(variance / len(means)) / mean if mean else 0.0
    )
