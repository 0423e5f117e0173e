"""Intervals cover what they promise, and widen where less is known."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.intervals.conformal import (
    NEAR,
    Band,
    Bands,
    Calibration,
    band,
    excess,
    of_category,
)


@pytest.mark.parametrize("seed", range(5))
def test_nine_in_ten_further_scores_lie_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, further = rng.gamma(2, 1, 3000) - 1, rng.gamma(2, 1, 20_000) - 1
    found = band(scores)
    inside = ((further >= found.low) & (further <= found.high)).mean()
    assert 0.87 < inside < 0.93


def test_few_scores_give_the_widest_band() -> None:
    scores = np.array([-1.0, 0.0, 2.0])
    assert band(scores) == Band(-1.0, 2.0)


def test_weights_count() -> None:
    scores = np.concatenate([np.zeros(99), np.full(1, 9.0)])
    assert band(scores).high == 0
    assert band(scores, np.concatenate([np.ones(99), [99.0]])).high == 9.0


def test_a_category_covers_its_own_rows_where_all_together_would_not() -> None:
    rng = np.random.default_rng(5)
    quiet, noisy = rng.standard_normal(9000), 3 * rng.standard_normal(1000)
    everything, further = np.concatenate([quiet, noisy]), 3 * rng.standard_normal(5000)
    for found, least, most in (
        (band(everything), 0.4, 0.8),
        (of_category(noisy, everything), 0.86, 0.93),
    ):
        assert least < ((further >= found.low) & (further <= found.high)).mean() < most


def test_a_category_of_few_rows_borrows_from_all() -> None:
    everything = np.linspace(-1, 1, 1001)
    assert of_category(np.zeros(3), everything).high > 0.9
    assert of_category(np.zeros(3000), everything).high < 0.1


def test_bands_widen_with_distance() -> None:
    rings = ((NEAR, Band(-2, 2)), (1.0, Band(-3, 3)))
    calibration = Calibration(Bands(Band(-1, 1), rings))
    distances = [0.0, NEAR, 0.8, 1.0, 2.0, 5.0]
    highs = [calibration.at(d).high for d in distances]
    assert highs == sorted(highs)
    assert highs[0] == 1
    assert highs[-1] == 15
    assert calibration.at(0.0, measured=False).high == 2


def test_without_machines_left_out_others_are_wider_than_those_seen() -> None:
    calibration = Calibration(Bands(Band(-1, 1)))
    assert calibration.at(0.2).high > 1
    assert calibration.at(2.0).high > calibration.at(0.2).high


def test_a_row_beyond_the_hull_is_told_by_how_much() -> None:
    low, high = np.array([0.0, 0.0]), np.array([1.0, 10.0])
    rows = np.array([[0.5, 5.0], [1.0, 10.0], [1.5, 5.0], [0.5, -20.0]], np.float32)
    assert excess(rows, low, high).tolist() == [0.0, 0.0, 0.5, 2.0]
