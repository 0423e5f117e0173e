"""What the time of a run goes to: what holds its kernels up, their launches, and the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir.record import record
from perfc.passes.ceilings import Ceiling

from .amounts import key, ratio

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.passes.roofline import KernelBound, RooflineTable

HOST = "host"
"""What no ceiling of a kernel is: the nodes of the host, and a host that launches too slowly."""


@record
class LimitShare:
    """One thing that limits the run.

    Args:
        key: its name in data formats, ``matrix``.
        title: its name in words, ``matrix units``.
        share: of the run's time, in which nothing else holds the run up.
    """

    key: str
    title: str
    share: float


def held_by(kernel: KernelBound, time_s: float, wait_s: float) -> Ceiling:
    """What most of a kernel's time goes to: launches where it waits for longer than it runs."""
    return Ceiling.LAUNCH if wait_s > time_s / 2 else kernel.busiest


def limits(roof: RooflineTable, table: PredictionTable | None) -> tuple[LimitShare, ...]:
    """Shares of the time of a run, the largest first; they add up to 1.

    What a kernel waits for its launch counts to launches. Of the rest, what whole waves would
    spare counts to them, and what is left to the ceiling that then binds. What the run takes
    beside its kernels is the host's.

    Args:
        roof: bounds of the kernels.
        table: their prediction; None for times at measured rates.
    """
    waits_s: Sequence[tuple[float, float]] = (
        [(k.time_s, k.launch_gap_s) for k in roof.kernels]
        if table is None
        else [(k.time_s, k.wait_s) for k in table.kernels]
    )
    spent: dict[Ceiling, list[float]] = {}
    for k, (time_s, wait_s) in zip(roof.kernels, waits_s, strict=True):
        idle_s = k.idle_share * (time_s - wait_s)
        spent.setdefault(Ceiling.WAVES, []).append(idle_s)
        spent.setdefault(k.unit, []).append(time_s - wait_s - idle_s)
        spent.setdefault(Ceiling.LAUNCH, []).append(wait_s)
    times_s = {(key(c), c.value): math.fsum(s) for c, s in spent.items()}
    times_s[HOST, HOST] = 0.0 if table is None else table.host_s
    whole_s = math.fsum(times_s.values())
    found = (LimitShare(*name, ratio(s, whole_s)) for name, s in times_s.items() if s > 0)
    return tuple(sorted(found, key=lambda one: (-one.share, one.key)))
