"""Critical kernels: the few that take most of the time, with the reason for each."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import record

from ..amounts import title
from ..formats.document import Column, Note, Section, tabulate
from ..units import Unit, plural, ratio_text, share, size_text, time_text
from .kernels import KernelGroup, KernelRow, groups, title_of

CARRIED = 0.6
"""Share of the time that the critical kernels cover, in at most ``MOST`` rows."""
MOST = 12
"""Maximum rows of critical kernels."""


@record
class CriticalStep:
    """One group of equal critical kernels.

    Args:
        kernels: indices in execution order.
        time_s: total time, predicted if there is a prediction.
        share: share of the run's time.
        reason: what limits each kernel, and by how much.
    """

    kernels: tuple[int, ...]
    time_s: float
    share: float
    reason: str


@record
class Critical:
    """The critical kernels of a run.

    Args:
        steps: groups of equal kernels, in order of the first kernel of each.
        share: share of the run's time that they take.
    """

    steps: tuple[CriticalStep, ...]
    share: float


def collect(rows: Sequence[KernelRow], launch_s: float) -> Critical:
    """Select the fewest groups of equal kernels that take ``CARRIED`` of all kernels' time."""
    chosen: list[KernelGroup] = []
    covered = 0.0
    ordered = groups(rows)
    every = sum(g.predicted_share for g in ordered)
    for g in ordered[:MOST]:
        if covered >= CARRIED * every or not g.predicted_s:
            break
        chosen.append(g)
        covered += g.predicted_share
    steps = (
        CriticalStep(
            tuple(r.index for r in g.rows),
            g.predicted_s,
            g.predicted_share,
            reason(g.first, launch_s),
        )
        for g in sorted(chosen, key=lambda g: g.first.index)
    )
    return Critical(tuple(steps), covered)


def reason(row: KernelRow, launch_s: float) -> str:
    """Explain the time of a kernel by its limiting ceiling.

    ``launch_s`` is the time between the starts of two empty kernels.
    """
    is_above = row.next_bound and row.held_by == row.bound
    times = ratio_text(row.margin, 1) if row.margin and is_above else ""
    above = f", {times} × as long as {title(row.next_bound)}" if times else ""
    limiting = row.ceilings.get(row.held_by)
    matrix = row.ceilings.get("matrix")
    match row.held_by:
        case "launch":
            timed = "the known part of the kernel" if row.is_bound else "the kernel"
            each_s = row.sustained_s / row.launches if row.launches else 0.0
            text = (
                f"launch takes longer than {timed}: {time_text(launch_s)} "
                f"for {time_text(each_s)} of work"
            )
        case "waves" if limiting and matrix:
            # time of full waves over the time with the partial last wave
            idle = 1 - matrix.sustained_s / limiting.sustained_s
            text = f"{share(idle)} of tile slots empty in partial waves{above}"
        case "matrix":
            text = f"{row.mac} {row.dtype} on matrix units{above}"
        case "device":
            text = f"{size_text(row.device_bytes)} via device memory{above}"
        case "l1" | "l2":
            nbytes = (row.read_bytes.value or 0) + (row.write_bytes.value or 0)
            text = f"{size_text(nbytes)} via {title(row.held_by)}{above}"
        case "special":
            text = f"exp, log, sqrt or division{above}"
        case _:
            text = f"{row.flop} on {title(row.held_by)}{above}"
    waits_s = row.launch_gap_s if row.predicted is None else row.predicted.gap_s
    if row.held_by != "launch" and waits_s:
        text += f"; its launch adds {time_text(waits_s)}"
    if row.is_bound and row.held_by != "launch":
        text += "; lower bound, part of its cost is unknown"
    return text


def section(view: Critical, rows: Sequence[KernelRow]) -> Section:
    """Return the section of critical kernels."""
    if not view.steps:
        return Section("critical", "critical kernels", (Note("no kernel takes time"),))
    columns = (
        Column("index", "#", Unit.COUNT, cell=lambda s: s.kernels[0]),
        Column("count", "count", Unit.COUNT, cell=lambda s: len(s.kernels)),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "share", Unit.SHARE),
        Column("kernel", is_name=True, cell=lambda s: title_of(rows[s.kernels[0]])),
        Column("reason", is_name=True, wraps=True),
    )
    count = sum(len(s.kernels) for s in view.steps)
    heading = f"critical kernels: {plural(count, 'kernel')}, {share(view.share)} of the time"
    return Section("critical", heading, (tabulate(columns, view.steps),))
