"""Classes of estimates of a kernel and of a run: lower bound, time, interval and predictor."""

from __future__ import annotations

import math
from enum import Enum

from perfc.ir import record
from perfc.ir.record import changed

from .interval import Interval

ROUNDING = 1e-9
"""Relative difference of two times up to which they count as equal, as floats are rounded."""


class Predictor(Enum):
    """Predictors of a kernel's time, the most trusted first."""

    LAW = "law"
    """Physical laws of a class of kernels, from the target's data sheet."""
    LEARNED = "learned"
    """The operator predictor: forests of a class of kernels, from the target's data sheet."""
    ROOFLINE = "roofline"
    """Roofline time at sustained rates, times the usual ratio of kernels of the kind to it."""


@record
class Timed:
    """A time that was estimated, with its interval.

    Args:
        floor_s: lower bound in seconds, which no execution can beat.
        time: time in seconds; no end of the interval is below the lower bound.
    """

    floor_s: float
    time: Interval

    @property
    def time_s(self) -> float:
        """Return the likeliest time in seconds."""
        return self.time.mid

    @property
    def low_s(self) -> float:
        """Return the lower end of the 90 % prediction interval."""
        return self.time.low

    @property
    def high_s(self) -> float:
        """Return the upper end of the 90 % prediction interval."""
        return self.time.high


@record
class Estimate(Timed):
    """Predicted time of one kernel, the sum of all its launches in one run.

    Args:
        predictor: which predictor gives the time.
        class_name: class of kernels that were measured to fit it.
        wait_s: part of ``time`` in which the device waits for its host.
        gap_s: part of ``time`` between launches, in which the device is idle as well.
        is_extrapolating: True if kernel or machine differ so much from the measured ones that a
            large error is expected.
        is_measured: True if kernels of the class were measured on this machine or a near one.
        is_own: True if kernels of the class were measured on this machine itself.
        in_run: narrower interval that enters the sum of a run, where errors of kernels cancel; None
            if ``time`` itself enters the sum.
        correction: factor in ``time``, fitted to kernels measured on this machine (`adapt`).
        is_clipped: True if the predictor gave less than the lower bound, which replaced it.
    """

    predictor: Predictor
    class_name: str
    wait_s: float = 0.0
    gap_s: float = 0.0
    is_extrapolating: bool = False
    is_measured: bool = True
    is_own: bool = False
    in_run: Interval | None = None
    correction: float = 1.0
    is_clipped: bool = False

    @property
    def summed(self) -> Interval:
        """Return the interval that enters the sum of a run."""
        return self.time if self.in_run is None else self.in_run

    @property
    def idle_s(self) -> float:
        """Return the part of the time in which the device is idle."""
        return self.wait_s + self.gap_s

    @property
    def device_s(self) -> float:
        """Return the part of the time in which the device is busy."""
        return self.time_s - self.idle_s

    @classmethod
    def bounded(
        cls,
        floor_s: float,
        time: Interval,
        predictor: Predictor,
        class_name: str,
        *,
        is_measured: bool = True,
        is_own: bool = False,
    ) -> Estimate:
        """Return the estimate of a predicted time, with every end at or above its lower bound."""
        is_clipped = time.mid < floor_s * (1 - ROUNDING)
        return cls(
            floor_s,
            time.at_least(floor_s),
            predictor,
            class_name,
            is_measured=is_measured,
            is_own=is_own,
            is_clipped=is_clipped,
        )

    def scaled(self, factor: float, least_s: float = 0.0) -> Estimate:
        """Return the estimate with every part of its time scaled, and no end below ``least_s``."""
        return changed(
            self,
            time=(self.time * factor).at_least(least_s),
            wait_s=self.wait_s * factor,
            gap_s=self.gap_s * factor,
            # None stays None
            in_run=self.in_run and self.in_run * factor,
        )

    def above(self, floor_s: float) -> Estimate:
        """Return the estimate with every end at or above a lower bound."""
        in_run = self.in_run and self.in_run.at_least(floor_s)
        return changed(self, floor_s=floor_s, time=self.time.at_least(floor_s), in_run=in_run)

    def launched(self, gap: Interval) -> Estimate:
        """Return the estimate with the maximum of its time and the gap between launches.

        The maximum is that of each end; what exceeds the kernel is idle time.
        """
        time = self.time.slower_of(gap)
        in_run = self.in_run and self.in_run.slower_of(gap)
        return changed(self, time=time, in_run=in_run, gap_s=time.mid - self.time.mid)

    def spaced(self, gap: Interval) -> Estimate:
        """Return the estimate with a gap added before its launches."""
        in_run = self.in_run and self.in_run + gap
        return changed(self, time=self.time + gap, in_run=in_run, gap_s=gap.mid)

    def relaunched_s(self, device_s: float, gap_s: float, factor: float = 1.0) -> float:
        """Return the time with another time on the device and other gaps between launches.

        Args:
            device_s: time on the device.
            gap_s: least time that all launches take on the host; unused for a law, whose launch is
                a gap of its queue in addition to the device's time.
            factor: multiplier of a law's gap.
        """
        if self.predictor is Predictor.LAW:
            return device_s + self.gap_s * factor
        # measured times include their launches, so that a launch counts at most as this time
        return max(device_s, min(gap_s, self.time_s))

    def waiting(self, host: Interval) -> Estimate:
        """Return the estimate with a wait for the host added; it had none before."""
        in_run = self.in_run and self.in_run + host
        return changed(self, time=self.time + host, in_run=in_run, wait_s=host.mid)


@record
class CandidateRun(Timed):
    """Prediction of one whole-run predictor, selected or not.

    Args:
        predictor: name of the predictor, as commands take it.
        words: description for users: which predictor, fitted to which rows.
        is_own: True if runs of this kind were measured on this machine.
        outside: reasons why it extrapolates; empty if it does not.
        withheld: reason why it cannot be selected; "" if it can.
        publications: titles of publications with measured runs of the network.
        other_quantities: further quantities that it predicts: ``memory_bytes``, ``energy_j``.
    """

    predictor: str
    words: str
    is_own: bool = True
    outside: tuple[str, ...] = ()
    withheld: str = ""
    publications: tuple[str, ...] = ()
    other_quantities: tuple[tuple[str, float], ...] = ()

    @property
    def width(self) -> float:
        """Return upper over lower end; intervals were calibrated on held-out rows of that kind."""
        return self.high_s / self.low_s if self.low_s > 0 else math.inf

    @property
    def doubt(self) -> tuple[bool, float]:
        """Return the sort key of trust: runs of the machine first, then the narrowest interval."""
        return not self.is_own, self.width


@record
class RunEstimate(Timed):
    """Predicted time of a run: its kernels and a fixed time.

    Args:
        fixed_s: part of ``time`` that belongs to no kernel: start, end, and nodes on the host.
        predictor: name of a predictor of whole runs; "" for the timeline of the kernels.
    """

    fixed_s: float = 0.0
    predictor: str = ""
