"""Timing discipline: warm up until stable, long enough samples, medians, clocks that agree."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from perfc.ir import record

from .backends.backend import MeasurementError, PreparedCase

MOST_REPEATS = (1 << 31) - 1
"""Maximum repeats of a sample: kernels count them in 32 bits."""
CLOCK_RESOLUTIONS = 2_000
"""Minimum clock ticks of a sample: its reading is then exact to 0.05 %."""
LEAST_SAMPLES = 3
"""Minimum number of samples, also if little time is left."""


class Deadline:
    """Wall-time limit of measuring, from construction.

    Args:
        limit_s: limit in seconds; infinite by default.
        now: a clock, in seconds.
    """

    def __init__(
        self, limit_s: float = math.inf, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit_s, self.now, self.start_s = limit_s, now, now()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return self.now() - self.start_s

    @property
    def left_s(self) -> float:
        """Return the seconds until the end, at least zero."""
        return max(self.limit_s - self.elapsed_s, 0.0)

    @property
    def is_over(self) -> bool:
        """Return True if no time is left."""
        return self.left_s <= 0

    def within(self, seconds: float) -> Deadline:
        """Return a deadline ``seconds`` from now, but not after this one."""
        return Deadline(min(self.left_s, seconds), self.now)


@record
class TimingSettings:
    """Durations of measurements.

    Args:
        sample_s: a sample repeats the run until it lasts so long. Short samples fit between the
            interruptions of a machine that does other things too.
        samples: maximum number of samples within ``budget_s``, at least three.
        warm_up_s: maximum time until three consecutive samples differ by less than ``stable``.
        limit_s: wall time of a case, after which three samples are enough: where other programs
            take the processors, a sample lasts many times ``sample_s``.
    """

    sample_s: float = 4e-4
    samples: int = 15
    budget_s: float = 0.15
    warm_up_s: float = 0.03
    stable: float = 0.05
    limit_s: float = 2.0


@record
class Series:
    """Seconds per repeat, sample by sample."""

    repeats: int
    seconds: tuple[float, ...]

    @property
    def best_s(self) -> float:
        """Return the median of the best third: the sustained time without interference.

        Interference only ever adds time, so the lower end of the samples is the machine's and
        the upper end its other users'. The single best sample is not used: it may be luck.
        """
        return np_median(sorted(self.seconds)[: max(len(self.seconds) // 3, 1)])


def np_median(values: list[float]) -> float:
    """Return the median by NumPy, imported when first needed."""
    import numpy as np

    return float(np.median(values))


class Clocks:
    """Two clocks of the host, read together: they must agree on elapsed time.

    Args:
        read: function that returns the readings of both clocks in seconds. By default the first is
            the monotonic clock, and the second the raw counter where the system has one. Neither
            follows steps of the wall clock.
    """

    def __init__(self, read: Callable[[], tuple[float, float]] | None = None) -> None:
        self.read = read or _host_clocks
        self.begin = self.read()

    def check(self) -> None:
        """Compare the time since the last check.

        Raises:
            MeasurementError: a clock jumped, or runs at another speed.
        """
        now = self.read()
        first, second = (a - b for a, b in zip(now, self.begin, strict=True))
        self.begin = now
        # 2 ms for an interruption between both readings, 1 % for clocks that are adjusted
        if first < 0 or second < 0 or abs(first - second) > 2e-3 + 0.01 * max(first, second):
            raise MeasurementError(
                f"the clock jumps: {first:.6f} s by one clock, {second:.6f} s by the other",
                hint="let time synchronization settle and repeat",
            )


def _host_clocks() -> tuple[float, float]:
    """Return the readings of both clocks, with at most 0.1 ms between them unless that fails."""
    raw = getattr(time, "CLOCK_MONOTONIC_RAW", None)
    before = second = 0.0
    # repeated, up to a limit, where the process was interrupted between the readings
    for _ in range(100):
        before = time.monotonic()
        second = time.perf_counter() if raw is None else time.clock_gettime(raw)
        if time.monotonic() - before < 1e-4:
            break
    return before, second


def measure(
    run: PreparedCase,
    settings: TimingSettings,
    clocks: Clocks | None = None,
    deadline: Deadline | None = None,
) -> Series:
    """Time a run; only ``LEAST_SAMPLES`` if the time of the case, or of all, is over.

    Raises:
        MeasurementError: the clock stands still, goes backwards or jumps.
    """
    clocks = clocks or Clocks()
    deadline = (deadline or Deadline()).within(settings.limit_s)
    series = _measured(run, settings, deadline, *_enough(run, settings, deadline, 1))
    # again, three times at most, with more repeats
    for _ in range(3):
        shortest = min(series.seconds) * series.repeats
        # `_enough` accepts 80 % of the needed length: below 50 % an interruption deceived it, as
        # the samples that it saw looked longer than the run is
        if shortest >= _needed(settings) / 2 or deadline.is_over:
            break
        repeats = series.repeats + 1
        series = _measured(run, settings, deadline, *_enough(run, settings, deadline, repeats))
    clocks.check()
    return series


def _measured(
    run: PreparedCase, settings: TimingSettings, deadline: Deadline, repeats: int, last: float
) -> Series:
    """Return the samples after a warm-up; ``last`` is the time of a repeat just before."""
    recent = [last]
    spent = last * repeats
    while spent < settings.warm_up_s and not deadline.is_over:
        recent.append(_timed(run, repeats))
        spent += recent[-1] * repeats
        tail = recent[-3:]
        if len(tail) == 3 and max(tail) - min(tail) < settings.stable * min(tail):
            break
    # as many samples as the budget has room for
    fitting = int(settings.budget_s / max(last * repeats, 1e-9))
    seconds = list[float]()
    for _ in range(max(LEAST_SAMPLES, min(settings.samples, fitting))):
        seconds.append(_timed(run, repeats))
        if deadline.is_over and len(seconds) >= LEAST_SAMPLES:
            break
    return Series(repeats, tuple(seconds))


def _needed(settings: TimingSettings) -> float:
    """Return the minimum seconds of a sample."""
    return max(settings.sample_s, CLOCK_RESOLUTIONS * _resolution())


def _enough(
    run: PreparedCase, settings: TimingSettings, deadline: Deadline, repeats: int
) -> tuple[int, float]:
    """Return the repeats of a long enough sample, and the seconds of one repeat."""
    needed = _needed(settings)
    # Each step aims at the needed length, so a sound clock takes a few steps; 40 end the search.
    for _ in range(40):
        elapsed = run.sample(repeats)
        # Four fifths of the needed length will do: the steps below aim 10 % beyond it, and samples
        # vary.
        if elapsed >= needed * 0.8:
            # One sample may be long because something interrupted it, so the shortest of three
            # counts. A run of 50 ms is not repeated: three would use up the default budget.
            repetitions = 2 if elapsed < 0.05 and not deadline.is_over else 0
            elapsed = min([elapsed, *(run.sample(repeats) for _ in range(repetitions))])
        if elapsed < 0:
            raise MeasurementError("the clock goes backwards, or no thread could be started")
        if elapsed >= needed * 0.8:
            return repeats, elapsed / repeats
        # a short sample is hard to extrapolate from: at most sixteen times as many repeats; at
        # least 1.5 times, so that the length grows by more than samples vary
        factor = needed / elapsed if elapsed > 0 else 16.0
        repeats = int(repeats * min(max(factor * 1.1, 1.5), 16.0)) + 1
        if repeats > MOST_REPEATS:
            break
    raise MeasurementError("the clock stands still, or the compiler removed the kernel")


def _timed(run: PreparedCase, repeats: int) -> float:
    """Return the seconds of one repeat in a sample."""
    elapsed = run.sample(repeats)
    if elapsed <= 0:
        raise MeasurementError("the clock stands still or goes backwards")
    return elapsed / repeats


def _resolution() -> float:
    """Return the tick of the clock in seconds."""
    return time.get_clock_info("perf_counter").resolution
