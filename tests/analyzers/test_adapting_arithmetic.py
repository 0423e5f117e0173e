"""Corrections of a machine by a few of its kernels: each example computed by hand."""

from __future__ import annotations

import math

import pytest

from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.intervals.adapt import (
    ANY,
    Correction,
    KernelResidual,
    LearningPoint,
    adapt,
    corrected,
    enough,
    key,
    of_class,
    place,
    posterior,
    slope_of,
)
from perfc.analyzers.intervals.offsets import NOISES, TAIL


def ends(found: Interval) -> tuple[float, float, float]:
    return found.low, found.mid, found.high


def test_places_of_times_are_logarithmic_and_end_at_ten_microseconds_and_a_millisecond() -> None:
    assert [place(t) for t in (1e-9, 1e-5, 1e-4, 1e-3, 1.0)] == pytest.approx([0, 0, 0.5, 1, 1])
    assert [slope_of(t) for t in (1e-5, 1e-4, 1e-3)] == pytest.approx([-1, 0, 1])
    assert place(0.0) == 0
    correction = Correction(0.5, 8.0, 0.9, 1.1)
    assert [correction.at(t) for t in (1e-6, 1e-5, 1e-4, 1.0)] == pytest.approx([0.5, 0.5, 2, 8])


def test_one_row_moves_machine_and_class_in_proportion_to_their_variances() -> None:
    """A kernel of 100 µs that takes e times as long: no slope there, offsets alike.

    Machine and class have a variance of 0.04 each, so both move alike; they share what the noise
    leaves of 1, between 0.08 / (0.08 + noise²) for the largest and the least noise.
    """
    found = posterior([KernelResidual("matmul", 1e-4, math.e * 1e-4)])
    machine, own, slope = found.offsets.mean.tolist()
    assert machine == pytest.approx(own)
    assert slope == pytest.approx(0, abs=1e-12)
    assert 0.08 / (0.08 + 0.5**2) < machine + own < 0.08 / (0.08 + 0.03**2)
    assert found.log_ratio("matmul", 1e-4) == pytest.approx(machine + own)
    assert found.log_ratio("softmax", 1e-4) == pytest.approx(machine)
    noise = found.offsets.noise
    assert found.deviation("softmax", 1e-4) > found.deviation("matmul", 1e-4) > noise


def test_without_rows_the_prior_is_all_that_is_known() -> None:
    """Machine 0.2, a class nobody measured 0.2, and noise as is usual."""
    found = posterior([])
    assert found.log_ratio("matmul", 1e-4) == 0
    assert found.deviation("matmul", 1e-4) == pytest.approx(
        math.sqrt(0.08 + found.offsets.noise**2)
    )


def test_corrections_of_many_equal_rows_are_their_ratio() -> None:
    rows = [KernelResidual("matmul", t, 2 * t) for t in (1e-5, 1e-4, 1e-3) for _ in range(200)]
    found = adapt([*rows, *(KernelResidual("conv", 1e-4, 3e-4, "roofline") for _ in range(300))])
    assert found.corrections.keys() == {"matmul", ANY, "roofline.conv", "roofline.any"}
    own = found.corrections["matmul"]
    assert (own.small_ratio, own.large_ratio) == pytest.approx((2, 2), rel=0.01)
    assert own.samples == 600
    assert found.corrections[ANY].samples == 0
    assert own.low_ratio * own.high_ratio == pytest.approx(1)
    # rows that agree have the least noise there is
    assert own.high_ratio == pytest.approx(math.exp(1.645 * TAIL * NOISES[0]), rel=0.01)
    assert found.corrections["roofline.conv"].small_ratio == pytest.approx(3, rel=0.02)
    # a machine and a class share what both are off: √2 for others of the machine
    assert found.corrections[ANY].small_ratio == pytest.approx(math.sqrt(2), rel=0.02)


def test_more_rows_are_worth_it_while_they_take_a_tenth_of_the_error_away() -> None:
    def stop(*errors: float) -> int | None:
        return enough([LearningPoint(count, error) for count, error in enumerate(errors)])

    assert stop(1.0, 0.5, 0.46, 0.451) == 1
    assert stop(1.0, 0.5, 0.44, 0.43) == 2
    assert stop(1.0, 0.5, 0.46, 0.45) == 2
    assert stop(1.0, 0.89) is None
    assert stop(1.0) is None
    assert stop() is None


def test_a_correction_is_of_the_predictors_class_or_of_all_its_others() -> None:
    one, any_, other = (Correction(float(n), 1.0, 0.9, 1.1) for n in (1, 2, 3))
    table = {"matmul": one, ANY: any_, "steps.any": other}
    assert of_class(table, "learned", "matmul") is one
    assert of_class(table, "learned", "softmax") is any_
    assert of_class(table, "steps", "matmul") is other
    assert of_class(table, "roofline", "matmul") is None
    assert key("steps", "matmul") == "steps.matmul"


def test_a_corrected_kernel_takes_its_ratio_and_the_interval_of_the_rows() -> None:
    """Two launches of 100 µs, half of the way between ratios 0.5 and 8: 400 µs."""
    table = {"matmul": Correction(0.5, 8.0, 0.9, 1.25)}
    estimate = Estimate(
        1e-5,
        Interval(1e-4, 2e-4, 3e-4),
        Predictor.LEARNED,
        "matmul",
        is_extrapolating=True,
        is_measured=False,
        in_run=Interval.exactly(1.0),
    )
    found = corrected(estimate, 2.0, table)
    assert ends(found.time) == pytest.approx((3.6e-4, 4e-4, 5e-4))
    assert found.correction == pytest.approx(2)
    assert (found.is_extrapolating, found.is_measured, found.in_run) == (False, True, None)
    floored = corrected(estimate.above(3.9e-4), 2.0, {"matmul": Correction(1, 1, 0.5, 1.5)})
    assert ends(floored.time) == pytest.approx((3.9e-4, 3.9e-4, 5.85e-4))
    assert corrected(estimate, 0.0, table) is estimate
    assert corrected(estimate, 2.0, {"softmax": table["matmul"]}) is estimate
