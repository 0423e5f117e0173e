"""How long one launch keeps the next waiting, by machine and way of launching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfc.ir.facts import Origin
from perfc.passes.fitted import Ratios
from perfc.passes.roofline import GRAPH_GAP
from perfc.passes.runtimes import Launch

if TYPE_CHECKING:
    from perfc.machine import Machine, Rate

ASSUMED_LAUNCH = Ratios(0.6, 2.0)
"""Of a launch that nobody measured: 3 to 10 µs in eager frameworks, say target files; assumed."""
MEASURED_LAUNCH = Ratios(0.8, 1.25)
"""Of one that was; assumed."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Shortest time from one launch to the next, and how sure that is."""

    time_s: float
    low_s: float
    high_s: float

    def of(self, launches: float) -> Gap:
        """Of several, one after another."""
        return Gap(self.time_s * launches, self.low_s * launches, self.high_s * launches)


def gap(machine: Machine, launch: Launch) -> Gap:
    """The gap of a machine and a way of launching.

    In a recorded graph what the target states of its shortest kernel, ``launch_graph_s``; where it
    states none, a share of the host's launch that is assumed.
    """
    host = machine.launch_overhead_s
    if launch is not Launch.GRAPH:
        return _between(host, 1.0)
    stated = machine.device("launch_graph_s")
    return _between(stated, 1.0) if stated is not None else _between(host, GRAPH_GAP)


def _between(rate: Rate | None, share: float) -> Gap:
    if rate is None:
        return Gap(0.0, 0.0, 0.0)
    is_sure = rate.origin is Origin.MEASURED and share == 1
    sides = MEASURED_LAUNCH if is_sure else ASSUMED_LAUNCH
    time_s = rate.value * share
    return Gap(time_s, time_s * sides.low, time_s * sides.high)
