"""The interval of a difference: what is wrong alike before and after cancels, and no more."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import perfc
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.table import class_of
from perfc.review.diff import shared_errors as differences
from perfc.review.diff.figures import Metric
from perfc.review.diff.kernels import timed, uncertain
from perfc.review.diff.shared_errors import (
    NINE_IN_TEN,
    ONE_SIDED,
    Place,
    Semivariogram,
    Uncertain,
    coordinates,
    correlations,
    difference,
    semivariogram_of,
    semivariograms,
)

GROUP = ("learned", "convolution")


def place_of(flop: float, read_bytes: float, write_bytes: float) -> Place:
    return coordinates({"flop": flop, "read_bytes": read_bytes, "write_bytes": write_bytes})


def kernel(
    mid: float, factor: float = 2.0, *, flop: float = 1e9, group: tuple[str, str] = GROUP
) -> Uncertain:
    return Uncertain(group, place_of(flop, 1e6, 1e6), Interval(mid / factor, mid, mid * factor))


def test_kernels_of_both_sides_cancel_in_any_order() -> None:
    one, two, three = kernel(1.0), kernel(2.0), kernel(3.0)
    assert difference([one, two, two], [two, one, two]) is None
    shaken = Uncertain(one.group, one.place, one.amount * (1 + 1e-13))
    assert difference([one, two], [two, shaken]) is None
    assert difference([one, two], [two, three]) == difference([one], [three])


def test_a_level_that_nobody_knows_multiplies_both_sides() -> None:
    found = difference([kernel(1.0, 10.0)], [kernel(4.0, 10.0, flop=4e9)])
    assert found is not None
    assert found.low > 0, "ten times off, but alike before and after"
    assert found.mid == pytest.approx(3.0)
    apart = difference([kernel(1.0, 10.0)], [kernel(4.0, 10.0, group=("learned", "softmax"))])
    assert apart is not None
    assert apart.low < 0, "of another class nobody knows that"


def test_the_further_apart_the_wider() -> None:
    widths = []
    for times in (1.1, 4.0, 64.0):
        found = difference([kernel(1.0)], [kernel(1.2, flop=times * 1e9)])
        assert found is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_a_kernel_that_is_new_has_its_own_interval() -> None:
    found = difference([], [kernel(1.0, 3.0)])
    assert found is not None
    assert found.low == pytest.approx(1 / 3, rel=0.01)
    assert found.high == pytest.approx(3.0, rel=0.01)
    gone = difference([kernel(1.0, 3.0)], [])
    assert gone is not None
    assert (gone.low, gone.high) == (pytest.approx(-found.high), pytest.approx(-found.low))


def test_what_waits_for_its_launch_does_not_follow_the_level() -> None:
    waiting = Uncertain(GROUP, place_of(1e6, 1e4, 1e4), Interval(5e-6, 5e-6, 9e-6))
    worse = Uncertain(GROUP, place_of(4e6, 4e4, 4e4), Interval(5e-6, 17e-6, 190e-6))
    found = difference([waiting], [worse])
    assert found is not None
    assert found.low > -4e-6, "the launch is the least on both sides"
    assert found.high > 100e-6


def test_kernels_at_their_floor_follow_the_level_of_their_class() -> None:
    def at(low: float, mid: float, high: float, flop: float, *, is_floor: bool) -> Uncertain:
        return Uncertain(GROUP, place_of(flop, 1e6, 1e6), Interval(low, mid, high), is_floor)

    def least(*, is_floor: bool) -> float:
        # both floors are what the bytes take, which the edit leaves as they are
        old = at(45e-6, 161e-6, 2.3e-3, 1.0e9, is_floor=is_floor)
        new = at(45e-6, 310e-6, 4.5e-3, 1.5e9, is_floor=is_floor)
        found = difference([old], [new])
        assert found is not None
        return found.low

    assert least(is_floor=True) > 0 > least(is_floor=False)


def test_nine_in_ten_lie_above_a_higher_end_than_that_of_the_interval() -> None:
    old, new = kernel(1.0), kernel(1.6, flop=1.6e9)
    both, above = difference([old], [new]), difference([old], [new], ONE_SIDED)
    assert both is not None
    assert above is not None
    assert both.low < above.low < both.mid == above.mid


def test_extents_that_follow_from_others_set_no_kernels_apart() -> None:
    derived = class_of("convolution").derived
    assert {"pad_h", "pad_w"} <= set(derived)
    for kind in classes().values():
        assert set(kind.derived) <= {*kind.parameters, *kind.optional}
    report = perfc.op("conv", "a100", batch=8, channels=64, filters=64, height=56, width=56)
    own = next(t for t in timed(report, report.prediction.scale) if t.bound.kernel.helper is None)
    place = uncertain(own, Metric.TIME, report.env)
    assert place is not None
    assert dict(place.place).keys().isdisjoint(derived)
    assert "kernel_h" in dict(place.place)


def test_nine_in_ten_of_such_errors_are_inside() -> None:
    rng = np.random.default_rng(7)
    own = semivariogram_of(GROUP)
    level = 0.3
    factor = math.exp(NINE_IN_TEN * math.hypot(level, own.sill))
    old = [(1.0, 1e9), (2.0, 2e9), (0.5, 3e8)]
    new = [(1.6, 1.6e9), (2.0, 2.2e9), (0.8, 4e8)]
    found = difference(
        [kernel(t, factor, flop=f) for t, f in old], [kernel(t, factor, flop=f) for t, f in new]
    )
    assert found is not None
    alike = correlations(own, [place_of(f, 1e6, 1e6) for _, f in (*old, *new)])
    covariance = (own.sill**2 - own.nugget**2) * alike + own.nugget**2 * np.eye(6)
    errors = rng.multivariate_normal(np.zeros(6), covariance, 20_000)
    errors += level * rng.standard_normal((20_000, 1))
    mids = np.array([-old[0][0], -old[1][0], -old[2][0], new[0][0], new[1][0], new[2][0]])
    true = (mids * np.exp(errors)).sum(axis=1)
    inside = ((true >= found.low) & (true <= found.high)).mean()
    assert 0.88 <= inside <= 0.97


def test_a_thousand_kernels_take_no_minute() -> None:
    many = [kernel(1.0 + k / 1e4, flop=1e6 * (k + 1)) for k in range(3000)]
    began = time.process_time()
    found = difference(many[:1500], many[1500:])
    assert time.process_time() - began < 10
    assert found is not None
    assert found.low < found.mid < found.high


def test_amounts_of_nothing_and_floors_of_nothing_are_no_error() -> None:
    nothing = Uncertain(GROUP, place_of(0, 0, 0), Interval(0.0, 0.0, 0.0))
    found = difference([nothing], [Uncertain(GROUP, nothing.place, Interval(0.0, 1.0, 2.0))])
    assert found is not None
    assert 0 <= found.low <= 1 <= found.high <= 2.01


def test_the_table_is_of_classes_that_there_are() -> None:
    from perfc.analyzers.estimate.estimate import Predictor
    from perfc.analyzers.features.classes import classes
    from perfc.ir.op import Kind

    known = {f"learned.{name}" for name in classes()} | {f"roofline.{k.value}" for k in Kind}
    assert Predictor.LEARNED.value == "learned"
    assert set(semivariograms()) - known == {differences.ANY}
    for name, found in semivariograms().items():
        assert 0 < found.nugget <= found.sill < 3, name
        assert found.reach > 0, name
    assert isinstance(semivariogram_of(("steps", "of nobody")), Semivariogram)
