"""The kernels that carry most of the time, in execution order, with the reason for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .document import Cell, Column, Note, Section, Table
from .kernels import KernelRow, heaviest, title_of
from .units import Unit, quantity, share

CARRIED = 0.6
"""Share of the time that the sequence covers, unless that takes more than ``MOST`` kernels."""
MOST = 12


@dataclass(frozen=True, slots=True)
class CriticalStep:
    """A kernel on the critical sequence.

    Args:
        index: of the kernel.
        skipped: kernels left out between the step before and this one.
        skipped_share: their share of the run's time.
        reason: what holds the kernel up, and by how much.
    """

    index: int
    skipped: int
    skipped_share: float
    reason: str


@dataclass(frozen=True, slots=True)
class Critical:
    """The critical sequence.

    Args:
        steps: in execution order.
        share: of the run's time that the steps take.
    """

    steps: tuple[CriticalStep, ...]
    share: float


def collect(rows: Sequence[KernelRow], launch_s: float) -> Critical:
    """The fewest kernels that take ``CARRIED`` of the time."""
    chosen: list[KernelRow] = []
    covered = 0.0
    for r in heaviest(rows, MOST):
        if covered >= CARRIED:
            break
        chosen.append(r)
        covered += r.share
    steps: list[CriticalStep] = []
    last = -1
    for r in sorted(chosen, key=lambda r: r.index):
        between = rows[last + 1 : r.index]
        steps.append(
            CriticalStep(r.index, len(between), sum(b.share for b in between), reason(r, launch_s))
        )
        last = r.index
    return Critical(tuple(steps), covered)


def reason(row: KernelRow, launch_s: float) -> str:
    """Why a kernel takes the time it takes."""
    above = f", {row.margin:.1f}x above {row.next_bound}" if row.margin and row.next_bound else ""
    held = row.ceilings.get(row.bound)
    matrix = row.ceilings.get("matrix")
    match row.bound:
        case "launch":
            each = row.sustained_s / row.launches if row.launches else 0.0
            text = (
                f"launch longer than kernel: {quantity(launch_s, Unit.SECOND)} "
                f"for {quantity(each, Unit.SECOND)} of work"
            )
        case "waves" if held and matrix:
            idle = 1 - matrix.sustained_s / held.sustained_s
            text = f"{share(idle)} of tile slots empty in the last wave of {row.dtype} tiles{above}"
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
    if row.is_bound:
        text += "; more than shown, part of it is not known"
    return text


def section(view: Critical, rows: Sequence[KernelRow]) -> Section:
    """The sequence as a table; what lies between is summed in rows of its own."""
    columns = (
        Column("index", "#", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "% time", Unit.SHARE),
        Column("kernel", "kernel", is_name=True),
        Column("reason", "reason", is_name=True),
    )
    cells: list[tuple[Cell, ...]] = []
    for s in view.steps:
        if s.skipped:
            kernels = "kernel" if s.skipped == 1 else "kernels"
            cells.append(("", "", s.skipped_share, f"… {s.skipped} {kernels}", ""))
        r = rows[s.index]
        cells.append((r.index, r.time_s, r.share, title_of(r), s.reason))
    title = f"critical sequence: {len(view.steps)} kernels, {share(view.share)} of the time"
    if not view.steps:
        return Section("critical", "critical sequence", (Note("nothing takes time"),))
    return Section("critical", title, (Table(columns, tuple(cells)),))
