"""Samples are long enough, robust against interruptions, and refused when a clock is odd."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

import pytest

from perfc.kernels.backends.backend import MeasurementError
from perfc.kernels.timing import (
    CLOCK_RESOLUTIONS,
    LEAST_SAMPLES,
    Clocks,
    Deadline,
    Series,
    TimingSettings,
    measure,
)


class Scripted:
    """A run whose repeats take ``once_s``, times a factor of the sample's number."""

    count = 1.0

    def __init__(self, once_s: float, late: Callable[[int], float] = lambda n: 1.0) -> None:
        self.once_s, self.late = once_s, late
        self.calls: list[int] = []

    def sample(self, repeats: int) -> float:
        self.calls.append(repeats)
        return self.once_s * repeats * self.late(len(self.calls))

    def close(self) -> None:
        pass


def test_samples_last_long_enough_for_the_clock() -> None:
    series = measure(Scripted(3e-9), TimingSettings())
    assert series.repeats * 3e-9 >= 0.8 * 4e-4
    assert series.best_s == pytest.approx(3e-9)
    # 100 ns are what coarse clocks have
    assert series.repeats * 3e-9 >= CLOCK_RESOLUTIONS * 1e-7


def test_interruptions_do_not_move_the_best_third() -> None:
    run = Scripted(1e-3, lambda n: 9.0 if n % 2 else 1.0)
    assert measure(run, TimingSettings()).best_s == pytest.approx(1e-3)


def test_the_single_best_sample_is_not_the_result() -> None:
    series = Series(1, (0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    assert series.best_s == 1.0


def test_warming_up_ends_when_samples_agree() -> None:
    run = Scripted(1e-3, lambda n: max(1.0, 3.0 - 0.2 * n))
    series = measure(run, TimingSettings(warm_up_s=1.0))
    assert max(series.seconds) == pytest.approx(1e-3)


class Elsewhere(Scripted):
    """Others have the processors: a sample takes ``wall_s``, whatever it reports."""

    wall_s, now = 0.5, 0.0

    def sample(self, repeats: int) -> float:
        self.now += self.wall_s
        return super().sample(repeats)


def test_a_case_ends_when_its_time_is_over_with_three_samples() -> None:
    run = Elsewhere(1e-3)
    deadline = Deadline(now=lambda: run.now)
    assert (
        len(measure(run, TimingSettings(limit_s=2.0), deadline=deadline).seconds) == LEAST_SAMPLES
    )
    # two to find out how long one lasts, two more to be sure
    assert run.now <= 0.5 * (4 + LEAST_SAMPLES)


def test_a_case_that_begins_when_all_time_is_over_still_has_three_samples() -> None:
    run = Elsewhere(1e-3)
    deadline = Deadline(0.0, lambda: run.now)
    assert (
        len(measure(run, TimingSettings(limit_s=60.0), deadline=deadline).seconds) == LEAST_SAMPLES
    )


def test_time_that_is_left_counts_from_the_start() -> None:
    now = 100.0
    deadline = Deadline(10.0, lambda: now)
    now = 104.0
    assert (deadline.elapsed_s, deadline.left_s, deadline.is_over) == (4.0, 6.0, False)
    assert deadline.within(2.0).left_s == 2.0
    assert deadline.within(60.0).left_s == 6.0
    now = 111.0
    assert (deadline.left_s, deadline.is_over) == (0.0, True)


def test_long_runs_get_fewer_samples() -> None:
    assert len(measure(Scripted(1.0), TimingSettings()).seconds) == 3
    assert len(measure(Scripted(1e-3), TimingSettings()).seconds) == TimingSettings().samples


@pytest.mark.parametrize("once_s", [0.0, -1e-3])
def test_a_clock_that_stands_still_or_goes_back_is_refused(once_s: float) -> None:
    with pytest.raises(MeasurementError, match="clock"):
        measure(Scripted(once_s), TimingSettings())


def test_a_clock_that_goes_back_later_is_refused() -> None:
    with pytest.raises(MeasurementError, match="backwards"):
        measure(Scripted(1e-3, lambda n: -1.0 if n == 6 else 1.0), TimingSettings())


def test_a_clock_that_jumps_is_refused() -> None:
    ticks = chain([(0.0, 0.0), (1.0, 1.001)], repeat((2.0, 9.0)))
    clocks = Clocks(lambda: next(ticks))
    clocks.check()
    with pytest.raises(MeasurementError, match=r"the clock jumps: 1\.0+ s by one clock, 7\.9"):
        clocks.check()


def test_the_clocks_of_this_machine_agree() -> None:
    clocks = Clocks()
    measure(Scripted(1e-3), TimingSettings(), clocks)
    clocks.check()
