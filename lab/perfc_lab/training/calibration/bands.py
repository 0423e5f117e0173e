"""Calibrate the interval of a category of kernels that may have few rows.

Scores are errors of held-out rows over their expected errors, or levels in a distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.intervals.conformal import COVERAGE, Band, band

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

BORROWED_ROWS = 100.0
"""Weight, in rows, of all categories together when a category is calibrated."""


def of_category(
    scores_of_category: Array,
    everything: Array,
    coverage: float = COVERAGE,
) -> Band:
    """Return the interval of a category; the more rows it has, the less others count.

    Args:
        scores_of_category: scores of the category, of which there are some.
        everything: scores of all categories.
        coverage: share of further rows of the category that shall lie inside.
    """
    # with as many rows as are borrowed, a category counts for half
    share = len(scores_of_category) / (len(scores_of_category) + BORROWED_ROWS)
    weights = [
        np.full(len(scores_of_category), share / len(scores_of_category)),
        np.full(len(everything), (1 - share) / len(everything)),
    ]
    scores = np.concatenate([scores_of_category, everything])
    return band(scores, np.concatenate(weights), coverage, count=len(scores_of_category))
