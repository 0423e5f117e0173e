"""Timeline of a run: its host and its device as two queues.

``host += host_time(launch); start = max(host, device + gap); device = start + time(launch)``: a
device that is faster than its host waits. Every kernel has three parts, its time on the device, the
gap between launches and the wait for the host, which with the fixed time of the run sum up to the
time of the run. What measured runs take beyond that is spread over all parts in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import frozen

from ..estimate.estimate import Estimate, RunEstimate
from ..estimate.floors import above_floors
from ..estimate.interval import Interval

if TYPE_CHECKING:
    from ..features.classes import Array

LEAST_S = 1e-15
"""Sum of lower bounds of a run that does nothing."""
ROUNDING = 1e-9
"""Relative difference of sums that is rounding."""


@frozen
class RunHost:
    """Host of a run.

    Args:
        launch: time per launch.
        launches: its launches for each kernel; those inside an operator count for their share.
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
        """Return the seconds of host and device on each way through the run, ``[kernels, 2]``.

        The host launches up to a kernel, and the device runs its last part and all after it. The
        longest way is the time of the run, which begins with the first launch: hosts of repeated
        runs are ahead by it.

        Args:
            device_s: time of each kernel on the device, gaps between launches included.
            factor: multiplier of the time per launch.
        """
        launches, times_s = np.array(self.launches), np.array(device_s)
        host_s = self.launch.mid * factor * (np.cumsum(launches) - 1.0)
        done_s = np.cumsum(times_s) - times_s / np.maximum(launches, 1.0)
        return np.column_stack([host_s, times_s.sum() - done_s])

    def waits_s(self, device_s: Sequence[float], factor: float = 1.0) -> list[float]:
        """Return the time that the device waits for the host before each kernel, as `ways_s`."""
        late_s = self.ways_s(device_s, factor) @ [1.0, 1.0] - math.fsum(device_s)
        # sums in another order differ in their last digits, which is no wait
        late_s[late_s < ROUNDING * math.fsum(device_s)] = 0.0
        return list(np.diff(np.maximum.accumulate(late_s), prepend=0.0).tolist())


def timeline(kernels: Sequence[Estimate], host: RunHost | None) -> list[Estimate]:
    """Return the kernels with their waits for the host; equal kernels wait equally long.

    Args:
        kernels: on a device that never waits for its host.
        host: the host; None if it is never late.
    """
    if host is None:
        return [*kernels]
    equal: dict[float, list[float]] = {}
    for kernel, wait_s in zip(kernels, host.waits_s([k.time_s for k in kernels]), strict=True):
        equal.setdefault(kernel.time_s, []).append(wait_s)
    waits = {time_s: math.fsum(waits_s) / len(waits_s) for time_s, waits_s in equal.items()}
    relative = host.launch * (1 / host.launch.mid) if host.launch.mid else Interval.exactly(1.0)
    each = {id(k): k.waiting(relative * waits[k.time_s]) for k in kernels if waits[k.time_s]}
    return [each.get(id(kernel), kernel) for kernel in kernels]


def spread(kernels: Sequence[Estimate], run: RunEstimate) -> tuple[list[Estimate], RunEstimate]:
    """Return kernels and run whose times sum up to the time of the run, to the last digit.

    All parts are scaled in proportion, but no end of a kernel to less than its lower bound, and the
    fixed time, a term that measured runs gave, to no more than it is.

    Args:
        kernels: with gaps and waits.
        run: the run, with the fixed time before the scaling.
    """
    sum_s = math.fsum([*(k.time_s for k in kernels), run.fixed_s])
    fixed_s, scaled = run.fixed_s, [*kernels]
    if run.time_s != sum_s > 0:
        times_s = np.array([k.time_s for k in kernels])
        floors_s = np.array([k.floor_s for k in kernels])
        # kernels of several streams overlap
        floors_s *= min(run.time_s / max(float(floors_s.sum()), LEAST_S), 1.0)
        fixed_s *= min(run.time_s / sum_s, 1.0) if times_s.any() else run.time_s / sum_s
        ends_s = above_floors(times_s, floors_s, run.time_s - fixed_s).tolist()
        if math.fsum(ends_s) > (run.time_s - fixed_s) * (1 + ROUNDING):
            fixed_s = max(run.time_s - math.fsum(ends_s), 0.0)
        equal: dict[tuple[int, float], Estimate] = {}
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
    """Return the time of all kernels with some changed, waits included, over the present one.

    Args:
        times_s: of the kernels on a device that never waits for its host.
        changed_s: the changed ones, by index.
        host: the host; None if it is never late.
        launch_factor: multiplier of the host's time per launch.
    """

    def total_s(each_s: Sequence[float], factor: float) -> float:
        waits_s = () if host is None else host.waits_s(each_s, factor)
        return math.fsum([*each_s, *waits_s])

    before_s = total_s(times_s, 1.0)
    then_s = [changed_s.get(i, time_s) for i, time_s in enumerate(times_s)]
    return total_s(then_s, launch_factor) / before_s if before_s else 1.0
