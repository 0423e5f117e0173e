"""Calibrate the interval of a category of kernels, which may have few rows.

The score of a held-out row is its error over the expected error, or its level in a distribution. A
band is the interval of scores that contains most rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.intervals.conformal import COVERAGE, Band, band

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

BORROWED_ROWS = 100.0
"""Weight, in rows, of the scores of all categories in the calibration of one category."""


def of_category(
    scores_of_category: Array,
    everything: Array,
    coverage: float = COVERAGE,
) -> Band:
    """Return the interval of a category; the more rows it has, the less the others count.

    Args:
        scores_of_category: scores of the category, at least one.
        everything: scores of all categories.
        coverage: share of new rows of the category that the interval should contain.
    """
    # a category with `BORROWED_ROWS` rows has half of the weight
    share = len(scores_of_category) / (len(scores_of_category) + BORROWED_ROWS)
    weights = [
        np.full(len(scores_of_category), share / len(scores_of_category)),
        np.full(len(everything), (1 - share) / len(everything)),
    ]
    scores = np.concatenate([scores_of_category, everything])
    return band(scores, np.concatenate(weights), coverage, count=len(scores_of_category))
