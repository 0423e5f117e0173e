"""Intervals: each example computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.intervals.conformal import (
    LEVELS,
    Band,
    Bands,
    Calibration,
    Unseen,
    band,
    excess,
    sides,
)
from perfc.analyzers.intervals.mixture import Mixture
from perfc.analyzers.intervals.summing import ErrorSide, half_width, sides_of
from perfc_lab.board import coverage_of
from perfc_lab.training.calibration.bands import of_category


def ends(found: Interval) -> tuple[float, float, float]:
    return found.low, found.mid, found.high


def of(low: float, mid: float, high: float, **more: object) -> Estimate:
    return Estimate(0.5, Interval(low, mid, high), Predictor.LEARNED, "matmul", **more)  # type: ignore[arg-type]


# Interval and Estimate


def test_intervals_are_added_scaled_bounded_compared_and_widened() -> None:
    one = Interval(1.0, 2.0, 8.0)
    assert ends(one + Interval(10, 20, 40)) == (11, 22, 48)
    assert ends(one * 3) == (3, 6, 24)
    assert ends(one.at_least(3)) == (3, 3, 12)  # the upper end stays 4 times the middle
    assert ends(one.at_least(1.5)) == (1.5, 2, 8)
    assert ends(one.slower_of(Interval(0.5, 3, 4))) == (1, 3, 8)
    assert ends(one.slower_of(Interval(1.5, 1, 9))) == (1.5, 2, 9)
    assert ends(one.widened(2)) == pytest.approx((2 * 0.25, 2, 2 * 16))
    assert ends(one.widened(0)) == (2, 2, 2)
    assert ends(Interval.exactly(7)) == (7, 7, 7)


def test_an_estimate_keeps_what_counts_in_a_run_beside_what_it_says_of_itself() -> None:
    plain, apart = of(1, 2, 4), of(1, 2, 4, in_run=Interval(1.5, 2, 3))
    assert (plain.low_s, plain.time_s, plain.high_s) == (1, 2, 4)
    assert plain.summed == plain.time
    assert apart.summed == Interval(1.5, 2, 3)
    assert plain.scaled(2).in_run is None
    assert ends(apart.scaled(2).summed) == (3, 4, 6)
    assert ends(apart.scaled(2).time) == (2, 4, 8)


def test_no_end_of_an_estimate_is_below_a_floor() -> None:
    found = of(1, 2, 4, in_run=Interval(1.2, 2, 3)).above(1.5)
    assert (found.floor_s, ends(found.time), ends(found.summed)) == (1.5, (1.5, 2, 4), (1.5, 2, 3))
    assert of(1, 2, 4).above(1.5).in_run is None


def test_a_kernel_waits_for_its_launch_where_that_takes_longer() -> None:
    found = of(1, 2, 4, in_run=Interval(1.5, 2, 2.5)).launched(Interval(1.2, 3, 3.5))
    assert ends(found.time) == (1.2, 3, 4)
    assert ends(found.summed) == (1.5, 3, 3.5)
    assert found.gap_s == 1
    late = of(1, 2, 4).waiting(Interval(0.5, 1, 2))
    assert (ends(late.time), late.wait_s, late.device_s) == ((1.5, 3, 6), 1, 2)


# Conformal bands


def test_a_band_leaves_half_of_the_miss_on_either_side() -> None:
    """Of 39 scores 0 to 38 and one further, 80 % lie between the fourth from either end.

    0.9 · 40 = 36: the 36th from below is 35, from above 3.
    """
    scores = np.arange(39.0)
    assert band(scores, coverage=0.8) == Band(3.0, 35.0)
    assert band(scores[::-1], coverage=0.8) == Band(3.0, 35.0)
    # for fewer rows the correction is larger: 0.9 · (39 + 39 / 13) = 37.8
    assert band(scores, coverage=0.8, count=13) == Band(1.0, 37.0)


def test_weights_move_quantiles() -> None:
    """Weights 1, 1, 2, 4 sum to 8, with one more of their mean to 10; 7.5 are all but a part."""
    scores, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 1.0, 2.0, 4.0])
    assert band(scores, weights, coverage=0.5) == Band(1.0, 4.0)
    # 6 from above are 4 and 2
    assert band(scores, weights, coverage=0.2) == Band(3.0, 4.0)
    # 0.4 · 10 = 4 is reached by the third; from above 4 by the last alone
    assert band(scores, weights, coverage=-0.2) == Band(4.0, 3.0)


def test_a_category_of_a_hundred_rows_counts_as_much_as_all_together() -> None:
    """100 zeros and all rows, each half of the weight.

    0.76 · 1.01 of both are the zeros, 0.5, and 0.2676 of all rows, at 0.0025 each: 107.04.
    """
    found = of_category(np.zeros(100), np.arange(1.0, 201.0), coverage=0.52)
    assert found == Band(0.0, 108.0)


def test_bands_are_joined_and_widened_around_the_prediction() -> None:
    assert Band(-1, 2).around(Band(-3, 1)) == Band(-3, 2)
    assert Band(-1, 2).widened(2) == Band(-2, 4)
    assert Band(1, 2).widened(2) == Band(0, 4)
    assert Band(-2, -1).widened(2) == Band(-4, 0)


def test_what_holds_two_bands_holds_both_states() -> None:
    one = Bands(Band(-1, 1), Unseen(0.2, Band(-2, 2)), Band(0.1, 0.9))
    other = Bands(Band(-2, 0.5), Unseen(0.3, Band(-1, 3)), Band(0.2, 0.95))
    found = one.around(other)
    assert found.seen == Band(-2, 1)
    assert found.levels == Band(0.1, 0.95)
    assert found.unseen == Unseen(0.3, Band(-2, 3))
    assert one.around(Bands(Band(-1, 1))).unseen is None


def test_a_category_nobody_measured_has_the_widest_band() -> None:
    known = {"a": Bands(Band(-1, 3)), "b": Bands(Band(-2, 1))}
    found = Calibration(Bands(Band(-0.5, 0.5)), categories=known)
    assert found.of("a") is known["a"]
    assert found.of("c").seen == Band(-2, 3)
    assert Calibration(Bands(Band(-0.5, 0.5))).of("c").seen == Band(-0.5, 0.5)


def test_a_machine_at_no_distance_is_measured_only_if_it_is_said_to_be() -> None:
    found = Calibration(Bands(Band(-1, 1), Unseen(0.0, Band(-2, 2))))
    for distance in (0.0, 3.0):
        assert found.ends(np.ones(1), distance, measured=True)[1].tolist() == [1]
        assert found.ends(np.ones(1), distance, measured=False)[1].tolist() == [2]


def test_ends_lie_around_the_prediction_even_where_all_rows_were_slower() -> None:
    low, high = Calibration(Bands(Band(0.5, 2.0))).ends(np.ones(1), 0.0, measured=True)
    assert (low.tolist(), high.tolist()) == ([0], [2])
    low, high = Calibration(Bands(Band(-2.0, -0.5))).ends(np.ones(1), 0.0, measured=True)
    assert (low.tolist(), high.tolist()) == ([-2], [0])


def test_each_row_has_the_band_and_the_levels_of_its_category() -> None:
    known = {"a": Bands(Band(-1, 1), levels=Band(0.1, 0.8)), "b": Bands(Band(-2, 3))}
    found = Calibration(Bands(Band(-9, 9)), categories=known)
    rows = np.array([1, 0, 1])
    low, high = found.ends(np.ones(3), 0.0, measured=True, category=rows, names=("a", "b"))
    assert (low.tolist(), high.tolist()) == ([-2, -1, -2], [3, 1, 3])
    low, high = found.levels(rows, ("a", "b"))
    assert low.tolist() == pytest.approx([0.05, 0.1, 0.05])
    assert high.tolist() == pytest.approx([0.95, 0.8, 0.95])
    assert (LEVELS.low, LEVELS.high) == pytest.approx((0.05, 0.95))


# How far a row is from those trained on


def test_a_row_leaves_a_box_in_lengths_of_its_sides() -> None:
    low, high = np.array([0.0, 10.0]), np.array([4.0, 20.0])
    rows = np.array([[4.0, 20.0], [5.0, 15.0], [-2.0, 5.0], [2.0, 45.0]], np.float32)
    assert excess(rows, low, high).tolist() == [0, 0.25, 0.5, 2.5]
    # a hundred-thousandth of a side is rounding, two of them are not
    near = np.array([[4.00002, 15.0], [4.0001, 15.0]], np.float32)
    found = excess(near, low, high)
    assert found[0] == 0
    assert found[1] == pytest.approx(2.5e-5, rel=0.01)


def test_what_never_changed_is_measured_by_its_own_size_or_by_one() -> None:
    low, high = np.array([1.0, 3.0, -5.0, 0.0]), np.array([4.0, 3.0, -5.0, 0.0])
    assert sides(low, high).tolist() == [3, 3, 5, 1]
    row = np.array([[4.0, 6.0, -5.0, 2.0]], np.float32)
    assert excess(row, low, high, sides(low, high)).tolist() == [2]


def test_coverage_counts_times_at_the_ends_as_inside() -> None:
    time_s, low_s, high_s = np.array([1.0, 2, 3, 4]), np.array([1.0, 1, 3.5, 1]), np.full(4, 3.0)
    assert coverage_of(time_s, low_s, high_s) == 0.5


# Groups nobody has seen


# Mixtures


def mixture(*parts: tuple[float, float, float]) -> Mixture:
    columns = np.array(parts).T[:, :, None]
    return Mixture(*columns, np.ones((len(parts), 1), np.bool_))


def test_one_estimate_holds_nine_in_ten_of_a_logistic_distribution() -> None:
    one = mixture((-1.0, 0.0, 2.0))
    at = [-1.0, 0.0, 2.0, 1.0, -50.0]
    # half of the way up is e^(ln(19) / 2) to one
    shares = [0.05, 0.5, 0.95, math.sqrt(19) / (1 + math.sqrt(19)), 0.0]
    for log_s, share in zip(at, shares, strict=True):
        assert float(one.below(np.array([log_s]))[0]) == pytest.approx(share, abs=1e-12)
    for level, expected in ((0.05, -1), (0.5, 0), (0.95, 2), (shares[3], 1)):
        assert float(one.quantile(np.array([level]))[0]) == pytest.approx(expected, abs=1e-9)


def test_two_estimates_share_what_lies_below() -> None:
    """At 0 half of the first, which is what is said: its errors count e^10 times as much."""
    two = mixture((-1.0, 0.0, 1.0), (9.0, 10.0, 11.0))
    assert float(two.below(np.array([0.0]))[0]) == pytest.approx(0.25, abs=1e-9)
    assert float(two.below(np.array([10.0]))[0]) == pytest.approx(0.75, abs=1e-9)
    low, middle, high = (float(end[0]) for end in two.ends(np.array([0.025]), np.array([0.975])))
    assert (low, high) == pytest.approx((-1, 11), abs=1e-6)
    assert middle == 0


def test_an_estimate_that_does_not_speak_of_a_row_has_no_share_of_it() -> None:
    columns = np.array([[[-1.0, -1], [-5, 9]], [[0.0, 0], [-4, 10]], [[1.0, 1], [-3, 11]]])
    found = Mixture(*columns, np.array([[True, True], [False, True]]))
    assert found.count.tolist() == [1, 2]
    assert found.below(np.array([0.0, 0.0])).tolist() == pytest.approx([0.5, 0.25])
    low, middle, high = found.ends(np.full(2, 0.025), np.full(2, 0.975))
    assert (low[0], middle[0], high[0]) == (-1, 0, 1)
    assert (low[1], high[1]) == pytest.approx((-1, 11), abs=1e-6)
    assert middle[1] == 0


# Sums


def test_a_class_that_is_correlated_in_part_sums_in_part() -> None:
    """ρ 0.45 of pointwise kernels of 1 and 3: √(0.45 · 16 + 0.55 · 10)."""
    two = {ErrorSide("elementwise", True, 1.0): 1.0, ErrorSide("elementwise", True, 3.0): 1.0}
    assert half_width(two) == pytest.approx(math.sqrt(0.45 * 16 + 0.55 * 10))
    for name, shared in (("softmax", 0.4), ("normalization", 0.4), ("matmul_f32", 0.08)):
        sides = {ErrorSide(name, True, 1.0): 2.0, ErrorSide(name, True, 3.0): 1.0}
        assert half_width(sides) == pytest.approx(math.sqrt(shared * 25 + (1 - shared) * 13))
    products = {ErrorSide("matmul_f32", True, 1.0): 1.0, ErrorSide("matmul_f32", True, 3.0): 1.0}
    assert half_width(products, 1.0) == 4
    assert half_width(products, 0.0) == pytest.approx(math.sqrt(10))


def test_sides_are_what_a_kernel_may_be_off_in_a_run() -> None:
    kernels = [of(1, 2, 8), of(1, 2, 8), of(1, 2, 8, in_run=Interval(1.5, 2, 4), is_own=True)]
    below, above = sides_of(kernels)
    assert below == {ErrorSide("matmul", False, 1): 2, ErrorSide("matmul", True, 0.5): 1}
    assert above == {ErrorSide("matmul", False, 6): 2, ErrorSide("matmul", True, 2): 1}
