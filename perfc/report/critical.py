"""The kernels that carry most of the time, in execution order, with the reason for each."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir.record import record

from .document import Column, Note, Section, Table
from .kernels import Group, KernelRow, groups, title_of
from .units import Unit, plural, quantity, share

CARRIED = 0.6
"""Share of the time that the sequence covers, unless that takes more than ``MOST`` rows."""
MOST = 12


@record
class CriticalStep:
    """Equal kernels on the critical sequence.

    Args:
        kernels: their indices, in execution order.
        time_s: all of them together.
        share: of the run's time.
        reason: what holds each of them up, and by how much.
    """

    kernels: tuple[int, ...]
    time_s: float
    share: float
    reason: str


@record
class Critical:
    """The critical sequence.

    Args:
        steps: in the order in which the first kernel of each runs.
        share: of the run's time that the steps take.
    """

    steps: tuple[CriticalStep, ...]
    share: float


def collect(rows: Sequence[KernelRow], launch_s: float) -> Critical:
    """The fewest kinds of kernels that take ``CARRIED`` of the time."""
    chosen: list[Group] = []
    covered = 0.0
    for g in groups(rows)[:MOST]:
        if covered >= CARRIED or not g.time_s:
            break
        chosen.append(g)
        covered += g.share
    steps = (
        CriticalStep(tuple(r.index for r in g.rows), g.time_s, g.share, reason(g.first, launch_s))
        for g in sorted(chosen, key=lambda g: g.first.index)
    )
    return Critical(tuple(steps), covered)


WORDS = {
    "matrix": "the matrix unit",
    "vector": "the vector unit",
    "special": "special functions",
    "integer": "integer arithmetic",
    "l1": "L1",
    "l2": "L2",
    "device": "device memory",
    "waves": "the waves of the matrix unit",
}
"""Ceilings as sentences call them."""


def reason(row: KernelRow, launch_s: float) -> str:
    """Why a kernel takes the time it takes."""
    below = WORDS.get(row.next_bound, row.next_bound)
    above = f", {row.margin:.1f}x above {below}" if row.margin and below else ""
    held = row.ceilings.get(row.bound)
    matrix = row.ceilings.get("matrix")
    match row.bound:
        case "launch":
            what = "what is known of the kernel" if row.is_bound else "kernel"
            each = row.sustained_s / row.launches if row.launches else 0.0
            text = (
                f"launch longer than {what}: {quantity(launch_s, Unit.SECOND)} "
                f"for {quantity(each, Unit.SECOND)} of work"
            )
        case "waves" if held and matrix:
            idle = 1 - matrix.sustained_s / held.sustained_s
            text = f"{share(idle)} of the tile slots of whole waves stay empty{above}"
        case "matrix":
            text = f"{row.mac} of {row.dtype} on the matrix unit{above}"
        case "device":
            text = f"{quantity(row.device_bytes, Unit.BYTE)} through device memory{above}"
        case "l1" | "l2":
            nbytes = (row.read_bytes.value or 0) + (row.write_bytes.value or 0)
            text = f"{quantity(nbytes, Unit.BYTE)} through {row.bound.upper()}{above}"
        case "special":
            text = f"exp, log, sqrt or division bind{above}"
        case _:
            text = f"{row.flop} on the {row.bound} unit{above}"
    if row.bound != "launch" and row.launch_gap_s:
        text += f"; launch adds {quantity(row.launch_gap_s, Unit.SECOND)}"
    if row.is_bound and row.bound != "launch":
        text += "; more than shown, part of it is not known"
    return text


def section(view: Critical, rows: Sequence[KernelRow]) -> Section:
    """The sequence as a table."""
    if not view.steps:
        return Section("critical", "critical sequence", (Note("nothing takes time"),))
    columns = (
        Column("index", "#", Unit.COUNT),
        Column("count", "n", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "% time", Unit.SHARE),
        Column("kernel", "kernel", is_name=True),
        Column("reason", "why it takes that long", is_name=True, wraps=True),
    )
    cells = tuple(
        (
            s.kernels[0],
            len(s.kernels),
            s.time_s,
            s.share,
            title_of(rows[s.kernels[0]]),
            s.reason,
        )
        for s in view.steps
    )
    count = sum(len(s.kernels) for s in view.steps)
    title = f"critical sequence: {plural(count, 'kernel')}, {share(view.share)} of the time"
    return Section("critical", title, (Table(columns, cells),))
