"""Launch gap: shortest time from one launch to the next, by machine and launch mode."""

from __future__ import annotations

from perfc.common.fitted import constants_next_to
from perfc.ir import Origin
from perfc.machine import Machine, Rate
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode

from ..estimate.interval import Interval

_FITTED = constants_next_to(__file__)
ASSUMED_LAUNCH = Interval(*_FITTED["assumed_launch"].numbers)
"""Interval of an unmeasured launch overhead, relative to its value."""
MEASURED_LAUNCH = Interval(*_FITTED["measured_launch"].numbers)
"""Interval of a measured launch overhead, relative to its value."""
QUEUE_GAP = Interval(*_FITTED["queue_gap_s"].numbers)
"""Time between two kernels that the host launched one by one, ahead of the device, beyond the gap
in a CUDA graph; in seconds."""


def launch_gap(machine: Machine, launch: LaunchMode) -> Interval:
    """Return the shortest time from one launch to the next, in seconds.

    In a CUDA graph it is the target's ``launch_graph_s``, the time of its shortest kernel. Without
    that value it is an assumed share, `GRAPH_GAP`, of the host's launch overhead.
    """
    host = machine.launch_overhead_s
    if launch is not LaunchMode.GRAPH:
        return _between(host, 1.0)
    measured = machine.device("launch_graph_s")
    return _between(measured, 1.0) if measured is not None else _between(host, GRAPH_GAP)


def _between(rate: Rate | None, share: float) -> Interval:
    """Return a share of a launch overhead with the interval of its origin; 0 without one."""
    if rate is None:
        return Interval.exactly(0.0)
    is_sure = rate.origin is Origin.MEASURED and share == 1
    sides = MEASURED_LAUNCH if is_sure else ASSUMED_LAUNCH
    return sides * (rate.value * share)
