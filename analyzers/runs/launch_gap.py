"""How long one launch keeps the next waiting, by machine and way of launching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir.facts import Origin
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode

from ..estimate.interval import Interval

if TYPE_CHECKING:
    from perfc.machine import Machine, Rate

ASSUMED_LAUNCH = Interval(0.6, 1.0, 2.0)
"""Of a launch that nobody measured: 3 to 10 µs in eager frameworks, say target files; assumed."""
MEASURED_LAUNCH = Interval(0.8, 1.0, 1.25)
"""Of one that was; assumed."""


def launch_gap(machine: Machine, launch: LaunchMode) -> Interval:
    """Shortest time from one launch to the next, in seconds.

    In a recorded graph what the target states of its shortest kernel, ``launch_graph_s``; where it
    states none, a share of the host's launch that is assumed.
    """
    host = machine.launch_overhead_s
    if launch is not LaunchMode.GRAPH:
        return _between(host, 1.0)
    stated = machine.device("launch_graph_s")
    return _between(stated, 1.0) if stated is not None else _between(host, GRAPH_GAP)


def _between(rate: Rate | None, share: float) -> Interval:
    if rate is None:
        return Interval.exactly(0.0)
    is_sure = rate.origin is Origin.MEASURED and share == 1
    sides = MEASURED_LAUNCH if is_sure else ASSUMED_LAUNCH
    return sides * (rate.value * share)
