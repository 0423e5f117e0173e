"""Shares of the time of a run by limit: ceilings of its kernels, launches and the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.passes.roofline.ceilings import Ceiling

from ..amounts import key, ratio

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.passes.roofline.roofline import KernelBound, RooflineTable

HOST = "host"
"""Limit that is not a ceiling of a kernel: a host that launches too slowly."""
FIXED = "fixed"
"""Time of a run that is of no kernel: its start, its end, and nodes that run on the host."""


OVERHEAD = "per-run overhead"
"""Title of this time."""


@record
class LimitShare:
    """One limit of the run and its share of the time.

    Args:
        key: identifier in data formats, ``matrix``.
        title: title, ``matrix units``.
        share: share of the run's time.
    """

    key: str
    title: str
    share: float


def held_by(kernel: KernelBound, time_s: float, idle_s: float) -> Ceiling:
    """Return the ceiling that takes most of a kernel's time; launch if it is mostly idle."""
    return Ceiling.LAUNCH if idle_s > time_s / 2 else kernel.busiest


def limits(roof: RooflineTable, table: PredictionTable | None) -> tuple[LimitShare, ...]:
    """Return shares of the time of a run, largest first; they add up to 1.

    Gaps between launches count to launches, waits for the host to the host. The idle part of
    partial waves counts to waves, and the rest of the kernel to its limiting ceiling.

    Args:
        roof: bounds of the kernels.
        table: prediction of the kernels; None for times at measured rates.
    """
    parts_s: Sequence[tuple[float, float]] = (
        [(k.time_s - k.launch_gap_s, k.launch_gap_s) for k in roof.kernels]
        if table is None
        else [(k.device_s, k.gap_s) for k in table.kernels]
    )
    spent: dict[Ceiling, list[float]] = {}
    known: dict[int, tuple[float, Ceiling]] = {}
    for k, (device_s, gap_s) in zip(roof.kernels, parts_s, strict=True):
        # equal kernels share one object of times, for which both values are computed once
        if id(k.sustained) not in known:
            known[id(k.sustained)] = k.idle_share, k.unit
        idle_share, unit = known[id(k.sustained)]
        partial_s = idle_share * device_s
        # the idle part of partial waves, the rest of the kernel, and the gap before it
        spent.setdefault(Ceiling.WAVES, []).append(partial_s)
        spent.setdefault(unit, []).append(device_s - partial_s)
        spent.setdefault(Ceiling.LAUNCH, []).append(gap_s)
    times_s = {(key(c), c.value): math.fsum(s) for c, s in spent.items()}
    if table is not None:
        times_s |= {(HOST, HOST): table.wait_s, (FIXED, OVERHEAD): table.total.fixed_s}
    whole_s = math.fsum(times_s.values())
    shares = (
        LimitShare(name, title, ratio(s, whole_s)) for (name, title), s in times_s.items() if s > 0
    )
    return tuple(sorted(shares, key=lambda limit: (-limit.share, limit.key)))
