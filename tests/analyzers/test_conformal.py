"""Intervals cover what they promise, and widen where less is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.analyzers.intervals.conformal import (
    LEAST_DISTANCE,
    Band,
    Bands,
    Unseen,
    band,
    excess,
    grown,
)
from perfc_lab.training.calibration.bands import of_category


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


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_errors_grow_with_distance(one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert grown(near) <= grown(far)


def test_errors_grow_slowly_below_a_factor_of_two_and_in_proportion_beyond() -> None:
    assert grown(0.0) == grown(LEAST_DISTANCE) == pytest.approx(0.1**0.4)
    assert grown(0.5) == pytest.approx(math.sqrt(0.5) ** 0.8)
    assert [grown(d) for d in (1.0, 2.0, 30.0)] == [1.0, 2.0, 30.0]
    assert math.isfinite(grown(math.inf))


def test_bands_widen_with_distance_and_start_no_narrower_than_where_it_was_measured() -> None:
    bands = Bands(Band(-1, 1), Unseen(2.0, Band(-1, 1)))
    highs = [float(bands.ends(np.ones(1), d, measured=False)[1][0]) for d in (0, 0.5, 1, 2, 5)]
    assert highs == sorted(highs)
    assert highs[0] == pytest.approx(math.hypot(1, 2 * 0.1**0.4))
    assert highs[-1] == pytest.approx(math.hypot(1, 10))
    assert bands.ends(np.ones(1), 5.0, measured=True)[1].tolist() == [1]
    narrow = Bands(Band(-1, 1), Unseen(0.0, Band(-0.5, 0.5)))
    assert narrow.ends(np.ones(1), 1.0, measured=False)[0].tolist() == [-1]


def test_without_machines_left_out_others_are_twice_as_wide_and_in_proportion_beyond() -> None:
    bands = Bands(Band(-1, 2))
    for distance, factor in ((0.0, 2), (0.9, 2), (1.0, 2), (3.0, 6)):
        low, high = bands.ends(np.ones(1), distance, measured=False)
        assert (low.tolist(), high.tolist()) == ([-factor], [2 * factor])


def test_a_row_beyond_the_hull_is_told_by_how_much() -> None:
    low, high = np.array([0.0, 0.0]), np.array([1.0, 10.0])
    rows = np.array([[0.5, 5.0], [1.0, 10.0], [1.5, 5.0], [0.5, -20.0]], np.float32)
    assert excess(rows, low, high).tolist() == [0.0, 0.0, 0.5, 2.0]
