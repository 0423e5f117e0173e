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
"""Limit that is not a ceiling of a kernel: host nodes, and a host that launches too slowly."""
UNATTRIBUTED = "unattributed"
"""Time of the run that neither its kernels nor the known host explain."""


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


def held_by(kernel: KernelBound, time_s: float, wait_s: float) -> Ceiling:
    """Return the ceiling that takes most of a kernel's time; launch if it mostly waits."""
    return Ceiling.LAUNCH if wait_s > time_s / 2 else kernel.busiest


def limits(roof: RooflineTable, table: PredictionTable | None) -> tuple[LimitShare, ...]:
    """Return shares of the time of a run, largest first, unattributed time last; they add up to 1.

    Time that a kernel waits for its launch counts to launches. The idle part of partial waves
    counts to waves, and the rest of the kernel to its limiting ceiling. Known time outside
    kernels counts to the host, the unattributed time of the run to no kernel.

    Args:
        roof: bounds of the kernels.
        table: prediction of the kernels; None for times at measured rates.
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
    times_s[UNATTRIBUTED, UNATTRIBUTED] = 0.0 if table is None else table.unattributed_s
    whole_s = math.fsum(max(s, 0.0) for s in times_s.values())
    shares = (LimitShare(*name, ratio(s, whole_s)) for name, s in times_s.items() if s > 0)
    return tuple(sorted(shares, key=lambda one: (one.key == UNATTRIBUTED, -one.share, one.key)))
