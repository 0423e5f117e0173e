"""Timeline of a run: its host and its device as two queues.

``host += host_time(launch); start = max(host, device + gap); device = start + time(launch)``: a
device that is faster than its host waits. The time of a kernel has three parts: on the device, the
gap between launches, and the wait for the host. The parts of all kernels and the fixed time add up
to the time of the run. If measured runs give another time, all parts are scaled in proportion
(`spread`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import frozen

from ..estimate.estimate import ROUNDING, Estimate, RunEstimate
from ..estimate.floors import above_floors
from ..estimate.interval import Interval

if TYPE_CHECKING:
    from ..features.classes import Array

LEAST_S = 1e-15
"""Least denominator, for runs whose lower bounds are all 0."""


@frozen
class RunHost:
    """Host of a run.

    Args:
        launch: time per launch.
        launches: number of launches for each kernel, in units of a whole operator.
        fixed: time of the run besides launches and kernels.
    """

    launch: Interval
    launches: tuple[float, ...]
    fixed: Interval = Interval.exactly(0.0)

    @property
    def time(self) -> Interval:
        """Return the time of all launches."""
        return self.launch * math.fsum(self.launches)

    def ways_s(self, device_s: Sequence[float], factor: float = 1.0) -> Array:
        """Return the seconds of host and device on each path through the run, ``[kernels, 2]``.

        On the path of a kernel, the host launches all kernels up to this one, then the device runs
        the kernel's last launch and all later kernels. The longest path is the time of the run. It
        begins after the first launch: in repeated runs the host is one launch ahead.

        Args:
            device_s: time of each kernel on the device, including gaps between launches.
            factor: multiplier of the time per launch.
        """
        launches, times_s = np.array(self.launches), np.array(device_s)
        host_s = self.launch.mid * factor * (np.cumsum(launches) - 1.0)
        # device time before the last launch of each kernel; its launches take equally long
        done_s = np.cumsum(times_s) - times_s / np.maximum(launches, 1.0)
        return np.column_stack([host_s, times_s.sum() - done_s])

    def waits_s(self, device_s: Sequence[float], factor: float = 1.0) -> list[float]:
        """Return the time that the device waits for the host before each kernel.

        The arguments are those of `ways_s`.
        """
        # by how much the path of each kernel is longer than the device's time without waits
        late_s = self.ways_s(device_s, factor) @ [1.0, 1.0] - math.fsum(device_s)
        # differences of the order of rounding are no waits
        late_s[late_s < ROUNDING * math.fsum(device_s)] = 0.0
        # a wait delays all later kernels: each waits only for what exceeds all waits before
        return list(np.diff(np.maximum.accumulate(late_s), prepend=0.0).tolist())


def timeline(kernels: Sequence[Estimate], host: RunHost | None) -> list[Estimate]:
    """Return the kernels with their waits for the host; equal kernels have their mean wait.

    Args:
        kernels: estimates on a device that never waits for its host.
        host: the host; None if it is never late.
    """
    if host is None:
        return [*kernels]
    # equal kernels keep one estimate; kernels of equal time count as equal
    equal: dict[float, list[float]] = {}
    for kernel, wait_s in zip(kernels, host.waits_s([k.time_s for k in kernels]), strict=True):
        equal.setdefault(kernel.time_s, []).append(wait_s)
    waits = {time_s: math.fsum(waits_s) / len(waits_s) for time_s, waits_s in equal.items()}
    # waits grow with the time per launch, so that they have its relative interval
    relative = host.launch * (1 / host.launch.mid) if host.launch.mid else Interval.exactly(1.0)
    delayed = {id(k): k.waiting(relative * waits[k.time_s]) for k in kernels if waits[k.time_s]}
    return [delayed.get(id(kernel), kernel) for kernel in kernels]


def spread(kernels: Sequence[Estimate], run: RunEstimate) -> tuple[list[Estimate], RunEstimate]:
    """Return kernels and run whose times add up exactly to the time of the run.

    All parts are scaled in proportion, except that no kernel falls below its lower bound and the
    fixed time, which was fitted to measured runs, does not grow.

    Args:
        kernels: estimates with gaps and waits.
        run: estimate of the run, with the fixed time before scaling.
    """
    sum_s = math.fsum([*(k.time_s for k in kernels), run.fixed_s])
    fixed_s, scaled = run.fixed_s, [*kernels]
    if run.time_s != sum_s > 0:
        times_s = np.array([k.time_s for k in kernels])
        floors_s = np.array([k.floor_s for k in kernels])
        # kernels on several streams overlap, so that their bounds may exceed the run's time
        floors_s *= min(run.time_s / max(float(floors_s.sum()), LEAST_S), 1.0)
        # without kernels the fixed time is all of the run
        fixed_s *= min(run.time_s / sum_s, 1.0) if times_s.any() else run.time_s / sum_s
        ends_s = above_floors(times_s, floors_s, run.time_s - fixed_s).tolist()
        # kernels at their bounds leave less for the fixed time
        if math.fsum(ends_s) > (run.time_s - fixed_s) * (1 + ROUNDING):
            fixed_s = max(run.time_s - math.fsum(ends_s), 0.0)
        equal: dict[tuple[int, float], Estimate] = {}  # kernels with one estimate keep one
        for i, (kernel, end_s) in enumerate(zip(kernels, ends_s, strict=True)):
            key = id(kernel), end_s
            if key not in equal:
                factor = end_s / kernel.time_s if kernel.time_s else 1.0
                equal[key] = kernel.scaled(factor, float(floors_s[i]))
            scaled[i] = equal[key]
        sum_s = math.fsum([*(k.time_s for k in scaled), fixed_s])
    time = Interval(min(run.low_s, sum_s), sum_s, max(run.high_s, sum_s))
    return scaled, replace(run, time=time, fixed_s=fixed_s)


def changed_ratio(
    times_s: Sequence[float],
    changed_s: Mapping[int, float],
    host: RunHost | None,
    launch_factor: float = 1.0,
) -> float:
    """Return the ratio of the time of all kernels, with waits, after some times changed.

    Args:
        times_s: times of the kernels on a device that never waits for its host.
        changed_s: changed times, by index.
        host: the host; None if it is never late.
        launch_factor: multiplier of the host's time per launch.
    """

    def total_s(kernels_s: Sequence[float], factor: float) -> float:
        """Return the time of a run with these times of kernels and this factor of launches."""
        waits_s = () if host is None else host.waits_s(kernels_s, factor)
        return math.fsum([*kernels_s, *waits_s])

    before_s = total_s(times_s, 1.0)
    after_s = [changed_s.get(i, time_s) for i, time_s in enumerate(times_s)]
    return total_s(after_s, launch_factor) / before_s if before_s else 1.0
