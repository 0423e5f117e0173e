"""Utilization of each unit and memory level, over the run and per kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.passes.roofline.roofline import Ceiling, KernelBound

from ..amounts import key, ratio, title
from ..formats.document import Column, Note, Section, tabulate
from ..sections.kernels import KernelRow, groups, title_of
from ..sections.prediction import Forecast
from ..units import LOWER_BOUND, Unit, share

if TYPE_CHECKING:
    from perfc.api import Report

    from ..sections.limits import LimitShare
    from ..sections.verdict import Verdict


@record
class Pressure:
    """Utilization of one ceiling over the whole run.

    Args:
        ceiling: unit, memory level, waves or launch.
        title: title of the ceiling.
        busy_s: time it would take alone at measured rates.
        share: ``busy_s`` as a share of the run's time, predicted if there is a prediction.
        floor_s: time it would take alone at peak rates.
        bound_kernels: number of kernels it limits.
        bound_s: time of the run that it limits.
        bound_share: ``bound_s`` as a share.
    """

    ceiling: str
    title: str
    busy_s: float
    share: float
    floor_s: float
    bound_kernels: int
    bound_s: float
    bound_share: float


@record
class Repeated:
    """Equal kernels of a run, with their count.

    Args:
        kernel: one of the kernels.
        indices: places of the kernels in the run.
        binding: limiting ceiling of each.
        time_s: sustained time of each, including its launch.
        predicted: prediction of each; None without predictions.
    """

    kernel: KernelBound
    indices: Sequence[int]
    binding: Ceiling
    time_s: float
    predicted: Forecast | None = None

    @property
    def count(self) -> int:
        """Return the number of kernels."""
        return len(self.indices)


def repeated(report: Report, rows: Sequence[KernelRow]) -> list[Repeated]:
    """Return the distinct kernels of ``report``, so that sums skip the duplicates."""
    kernels, places = report.roofline.kernels, dict[int, list[int]]()
    for row in rows:
        places.setdefault(row.alike, []).append(row.index)
    return [
        Repeated(
            kernels[first],
            indices,
            Ceiling[rows[first].held_by.upper()],  # rows have the key of the ceiling, in lower case
            kernels[first].time_s,
            rows[first].predicted,
        )
        for first, indices in places.items()
    ]


def collect(report: Report, kernels: Sequence[Repeated], verdict: Verdict) -> tuple[Pressure, ...]:
    """Collect every ceiling that takes time or limits a kernel, in the order of `Ceiling`."""
    total = verdict.time_s
    shares = {limit.key: limit.share for limit in verdict.limits}
    pressures: list[Pressure] = []
    for c in Ceiling:
        bound = [k for k in kernels if k.binding is c]
        busy = math.fsum(k.count * k.kernel.sustained.get(c, 0.0) for k in kernels)
        if c is Ceiling.LAUNCH:
            # launches have no rate: their time is the gaps that kernels do not hide
            busy = report.roofline.launch_gap_s
        if not busy and not bound:
            continue
        bound_share = shares.get(key(c), 0.0)
        pressures.append(
            Pressure(
                key(c),
                c.value,
                busy_s=busy,
                share=ratio(busy, total),
                floor_s=math.fsum(k.count * k.kernel.floor.get(c, 0.0) for k in kernels),
                bound_kernels=sum(k.count for k in bound),
                bound_s=bound_share * total,
                bound_share=bound_share,
            )
        )
    return tuple(pressures)


def section(rows: Sequence[Pressure], limits: Sequence[LimitShare]) -> Section:
    """Return the section of ceilings with their busy time and limited kernels.

    Args:
        rows: the ceilings.
        limits: limits of the run; a note has those that are no ceiling, such as the host.
    """
    columns = (
        Column("ceiling", "limited by", cell=lambda r: r.title),
        Column("bound_share", "share", Unit.SHARE),
        Column("bound_kernels", "kernels", Unit.COUNT),
        Column("share", "busy", Unit.SHARE),
        Column("busy_s", "busy", Unit.SECOND),
        Column(
            "floor_s", LOWER_BOUND, Unit.SECOND, is_spare=True, cell=lambda r: r.floor_s or None
        ),
    )
    used = {r.ceiling for r in rows}
    rest = ", ".join(f"{x.title} {share(x.share)}" for x in limits if x.key not in used)
    notes = (Note(f"of no kernel: {rest}"),) if rest else ()
    return Section("pressure", "resource pressure", (tabulate(columns, rows), *notes))


def ceilings(rows: Sequence[KernelRow], used: Sequence[Pressure], top: int | None) -> Section:
    """Return the section of each ceiling's busy share per kernel.

    Args:
        rows: kernels in execution order.
        used: ceilings, one column each.
        top: number of groups of equal kernels, one row each; None for a row per kernel.
    """
    names = [p.ceiling for p in used]
    shown = list(rows) if top is None else [g.first for g in groups(rows)[:top]]
    columns = (
        Column("index", "#", Unit.COUNT),
        *(
            Column(n, title(n), Unit.SHARE, is_spare=True, cell=partial(busy, ceiling=n))
            for n in names
        ),
        Column("kernel", is_name=True, cell=title_of),
    )
    return Section("ceilings", "resource pressure by kernel", (tabulate(columns, shown),))


def busy(row: KernelRow, ceiling: str) -> float | None:
    """Return the share of a kernel's time for which a ceiling is busy; None if unused."""
    p = row.predicted
    time_s, gap_s = (row.roofline_time_s, row.launch_gap_s) if p is None else (p.time_s, p.gap_s)
    if ceiling == key(Ceiling.LAUNCH):
        return ratio(gap_s, time_s) if gap_s else None
    used = row.ceilings.get(ceiling)
    return ratio(used.sustained_s, time_s) if used and used.sustained_s else None
