"""A report of Nsight Compute, compared with a target, as a document, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from perfc.ir import record
from perfc.machine import Machine, Unit
from perfc.view.chart.roofs import RoofLevel
from perfc.view.report.formats.document import (
    Amount,
    Cell,
    Column,
    Document,
    Note,
    Part,
    Section,
    Table,
    excerpt,
    tabulate,
)
from perfc.view.report.units import Unit as Quantity
from perfc.view.report.units import plural, quantity
from perfc.view.result import Field, Fields, Records, Result, ResultLayout

from .json_form import COUNTERS, achieved
from .report import Diagnostic, KernelCounters, MessageSeverity, NcuReport, NvtxPhase
from .standing import KernelStanding, problems, standing

KINDS = ("f32", "f16", "f64", "matrix")
"""Columns of arithmetic: three scalar types, and the tensor pipe whatever its type."""


@record
class Shown(Result):
    """A report with the utilization of ceilings by its kernels; target "" for no comparison."""

    layout: ClassVar[str] = "perfc.measuring.ncu.output:LAYOUT"
    report: NcuReport
    standings: tuple[KernelStanding, ...]
    diagnostics: tuple[Diagnostic, ...]
    target: str = ""

    @property
    def has_errors(self) -> bool:
        """Return True if a number contradicts the hardware."""
        return any(d.severity is MessageSeverity.ERROR for d in self.diagnostics)


def shown(report: NcuReport, machine: Machine | None) -> Shown:
    """Compare every kernel with the ceilings of ``machine``."""
    standings = tuple(standing(k, machine) for k in report.kernels)
    notes = problems(report, standings, machine)
    return Shown(report, standings, notes, machine.name if machine else "")


def flop_of(s: KernelStanding, kind: str) -> float | None:
    """Return the operations of one column, None where there are none."""
    if kind == "matrix":
        total = sum(v for (unit, _), v in s.kernel.flop.items() if unit is Unit.MATRIX)
        return total or None
    return s.kernel.flop.get((Unit.VECTOR, kind))


def document(shown: Shown, top: int | None = None) -> Document:
    """Return the sections: summary, kernels, what must be known."""
    report = shown.report
    title = f"ncu: {report.path}" + (f" against {shown.target}" if shown.target else "")
    launches = sum(k.launches for k in report.kernels)
    launched = "1 launch" if launches == 1 else f"{launches} launches"
    line = f"{launched} of {plural(len(report.kernels), 'kernel')}, "
    line += f"{quantity(report.time_s, Quantity.SECOND)}, {report.arch or 'unknown architecture'}"
    parts: list[Part] = [Note(line), *_phases(shown)]
    standings, what = shown.standings, "kernel with less time"
    kernels = tuple(excerpt(_columns(shown), standings[:top], len(standings), what))
    notes = tuple(
        Note(f"{d.severity.value}: {d.text}", d.severity is not MessageSeverity.NOTE)
        for d in shown.diagnostics
    )
    sections = [
        Section("summary", "summary", tuple(parts)),
        Section("kernels", "kernels", kernels),
    ]
    return Document(title, (*sections, *([Section("notes", "notes", notes)] if notes else [])))


def _phases(shown: Shown) -> Iterator[Part]:
    """Yield the table of the phases of a training step, if there are several."""
    phases = {k.phase for k in shown.report.kernels}
    if len(phases) < 2:
        return  # without ranges of NVTX all kernels are in one
    total = shown.report.time_s
    rows: list[tuple[Cell, ...]] = []
    for phase in (p for p in NvtxPhase if p in phases):
        inside = [k for k in shown.report.kernels if k.phase is phase]
        time_s = sum(k.time_s for k in inside)
        flop = sum(k.flop_total for k in inside)
        launches = sum(k.launches for k in inside)
        name = phase.value or "other"
        rows.append((name, launches, time_s, time_s / total, flop, flop / time_s))
    columns = (
        Column("phase"),
        Column("launches", "launches", Quantity.COUNT),
        Column("time_s", "time", Quantity.SECOND),
        Column("share", "of time", Quantity.SHARE),
        Column("flop", "flop", Quantity.FLOP),
        Column("flop_per_s", "rate", Quantity.FLOP_PER_S),
    )
    yield Table(columns, tuple(rows))


def _columns(shown: Shown) -> Iterator[Column]:
    """Yield the columns of kernels; shares of ceilings only with a target."""
    total_s = shown.report.time_s
    yield KERNEL
    if any(k.phase.value for k in shown.report.kernels):
        yield Column("phase", cell=lambda s: s.kernel.phase.value or "other")
    yield LAUNCHES
    yield TIME
    yield Column("share", "of time", Quantity.SHARE, cell=lambda s: s.kernel.time_s / total_s)
    legend = "all units; ≥ where some are missing"
    yield Column("flop_per_s", "rate", Quantity.FLOP_PER_S, legend, cell=lambda s: rate(s.kernel))
    yield Column("unit", cell=_unit)
    yield from INTENSITIES
    if shown.target:
        yield from SHARES


def _unit(s: KernelStanding) -> str | None:
    """Return the type and unit of most of the work; None without arithmetic."""
    unit, dtype = s.kernel.main
    return f"{dtype} {unit.value}" if s.kernel.flop else None


def _intensity(s: KernelStanding, level: RoofLevel) -> float | None:
    return s.kernel.mark.intensity(level)


def _share(s: KernelStanding, level: RoofLevel) -> float | None:
    return s.levels[level].share if level in s.levels else None


def _bytes(s: KernelStanding, level: RoofLevel) -> float | None:
    return s.kernel.nbytes.get(level)


KERNEL = Column("kernel", is_name=True, cell=lambda s: s.kernel.kernel)
LAUNCHES = Column("launches", "launches", Quantity.COUNT, cell=lambda s: s.kernel.launches)
TIME = Column("time_s", "time", Quantity.SECOND, "of all launches", cell=lambda s: s.kernel.time_s)
INTENSITIES = tuple(
    Column(
        f"{x.value}_flop_per_byte",
        x.title,
        Quantity.FLOP_PER_BYTE,
        f"flop a byte at {x.title}",
        cell=partial(_intensity, level=x),
    )
    for x in RoofLevel
)
SHARES = (
    Column(
        "unit_share",
        "unit %",
        Quantity.SHARE,
        "rate over its ceiling",
        cell=lambda s: max((c.share for c in s.units), default=None),
    ),
    *(
        Column(
            f"{x.value}_share",
            f"{x.title} %",
            Quantity.SHARE,
            f"bandwidth at {x.title} over its ceiling",
            cell=partial(_share, level=x),
        )
        for x in RoofLevel
    ),
)
FIELDS = (
    KERNEL,
    Column("phase", cell=lambda s: s.kernel.phase.value),
    LAUNCHES,
    TIME,
    Column("is_bound", cell=lambda s: s.kernel.is_bound),
    *(Column(f"{kind}_flop", cell=partial(flop_of, kind=kind)) for kind in KINDS),
    Column("flop_per_s", cell=lambda s: achieved(s.kernel)),
    *(Column(f"{x.value}_bytes", cell=partial(_bytes, level=x)) for x in RoofLevel),
    *INTENSITIES,
    *SHARES,
)
"""Columns of CSV."""


def rate(k: KernelCounters) -> Cell:
    """Return the achieved rate; a lower bound, or unknown, where arithmetic was not counted."""
    op_per_s = achieved(k)
    return Amount(op_per_s, Quantity.FLOP_PER_S, is_bound=True) if k.is_bound else op_per_s


def records(shown: Shown) -> Records:
    """Return one row a kernel, plain numbers in base units."""
    table = tabulate(FIELDS, shown.standings)
    return [c.name for c in table.columns], [*map(list, table.rows)]


LAYOUT = ResultLayout(
    "perfc-ncu/1",
    Fields(
        Shown,
        {
            "path": "report.path",
            "arch": "report.arch",
            "target": "target",
            "time_s": "report.time_s",
            "kernels": Field("standings", of=COUNTERS),
            "diagnostics": "diagnostics",
        },
    ),
    document,
    rows=records,
)
