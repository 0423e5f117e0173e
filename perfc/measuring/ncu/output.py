"""A report as a document, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.ir import record
from perfc.machine import Machine, Unit
from perfc.view.chart.roofs import RoofLevel
from perfc.view.report.formats import comma
from perfc.view.report.formats.document import (
    Amount,
    Cell,
    Column,
    Document,
    Note,
    Part,
    Section,
    Table,
)
from perfc.view.report.formats.json_form import document_text
from perfc.view.report.units import Unit as Quantity
from perfc.view.report.units import plural, quantity

from .json_form import SCHEMA, DiagnosticView, NcuView, achieved
from .report import Diagnostic, KernelCounters, MessageSeverity, NcuReport, NvtxPhase
from .standing import KernelStanding, problems, standing

KINDS = ("f32", "f16", "f64", "matrix")
"""Columns of arithmetic: three scalar types, and the tensor pipe whatever its type."""


@record
class Shown:
    """A report with where its kernels stand."""

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


def document(shown: Shown, top: int | None) -> Document:
    """Return the sections: summary, kernels, what must be known."""
    report = shown.report
    title = f"ncu: {report.path}" + (f" against {shown.target}" if shown.target else "")
    launches = sum(k.launches for k in report.kernels)
    launched = "1 launch" if launches == 1 else f"{launches} launches"
    line = f"{launched} of {plural(len(report.kernels), 'kernel')}, "
    line += f"{quantity(report.time_s, Quantity.SECOND)}, {report.arch or 'unknown architecture'}"
    parts: list[Part] = [Note(line), *_phases(shown)]
    kernels: list[Part] = [table(shown, top)]
    hidden = len(report.kernels) - (len(report.kernels) if top is None else top)
    if hidden > 0:
        kernels.append(Note(f"and {plural(hidden, 'kernel')} with less time; --top all"))
    notes = tuple(
        Note(f"{d.severity.value}: {d.text}", d.severity is not MessageSeverity.NOTE)
        for d in shown.diagnostics
    )
    sections = [
        Section("summary", "Summary", tuple(parts)),
        Section("kernels", "Kernels", tuple(kernels)),
    ]
    return Document(title, (*sections, *([Section("notes", "Notes", notes)] if notes else [])))


def _phases(shown: Shown) -> Iterator[Part]:
    phases = {k.phase for k in shown.report.kernels}
    if len(phases) < 2:
        return
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
        Column("phase", "phase"),
        Column("launches", "launches", Quantity.COUNT),
        Column("time_s", "time", Quantity.SECOND),
        Column("share", "of time", Quantity.SHARE),
        Column("flop", "flop", Quantity.FLOP),
        Column("flop_per_s", "rate", Quantity.FLOP_PER_S),
    )
    yield Table(columns, tuple(rows))


def table(shown: Shown, top: int | None) -> Table:
    """Return one row a kernel."""
    rows = tuple(tuple(_cells(shown, s)) for s in shown.standings[:top])
    return Table(tuple(_columns(shown)), rows)


def _columns(shown: Shown) -> Iterator[Column]:
    yield Column("kernel", "kernel", is_name=True)
    if any(k.phase.value for k in shown.report.kernels):
        yield Column("phase", "phase")
    yield Column("launches", "launches", Quantity.COUNT)
    yield Column("time_s", "time", Quantity.SECOND, "of all launches")
    yield Column("share", "of time", Quantity.SHARE)
    yield Column("flop_per_s", "rate", Quantity.FLOP_PER_S, "all units; ≥ where some are missing")
    yield Column("unit", "unit")
    for level in RoofLevel:
        name, title = f"{level.value}_flop_per_byte", level.title
        yield Column(name, title, Quantity.FLOP_PER_BYTE, f"flop a byte at {title}")
    if shown.target:
        yield Column("unit_share", "unit %", Quantity.SHARE, "rate over its ceiling")
        for level in RoofLevel:
            text = f"bandwidth at {level.title} over its ceiling"
            yield Column(f"{level.value}_share", f"{level.title} %", Quantity.SHARE, text)


def _cells(shown: Shown, s: KernelStanding) -> Iterator[Cell]:
    k = s.kernel
    yield k.kernel
    if any(x.phase.value for x in shown.report.kernels):
        yield k.phase.value or "other"
    yield k.launches
    yield k.time_s
    yield k.time_s / shown.report.time_s
    yield rate(k)
    unit, dtype = k.main
    yield f"{dtype} {unit.value}" if k.flop else None
    mark = k.mark
    for level in RoofLevel:
        yield mark.intensity(level)
    if shown.target:
        yield max((c.share for c in s.units), default=None)
        for level in RoofLevel:
            ceiling = s.levels.get(level)
            yield ceiling.share if ceiling else None


def rate(k: KernelCounters) -> Cell:
    """Return the achieved rate; a lower bound, or unknown, where arithmetic was not counted."""
    op_per_s = achieved(k)
    return Amount(op_per_s, Quantity.FLOP_PER_S, is_bound=True) if k.is_bound else op_per_s


def to_json(shown: Shown) -> str:
    """Return the JSON document, schema ``perfc-ncu/1``."""
    diagnostics = tuple(DiagnosticView(d.severity.value, d.text) for d in shown.diagnostics)
    view = NcuView.of(shown.report, shown.target, shown.standings, diagnostics)
    return document_text(SCHEMA, view)


def to_csv(shown: Shown) -> str:
    """Return one row a kernel, plain numbers in base units."""
    header = [
        *("kernel", "phase", "launches", "time_s", "is_bound"),
        *(f"{kind}_flop" for kind in KINDS),
        "flop_per_s",
        *(f"{x.value}_bytes" for x in RoofLevel),
        *(f"{x.value}_flop_per_byte" for x in RoofLevel),
        "unit_share",
        *(f"{x.value}_share" for x in RoofLevel),
    ]
    return comma.records(header, map(_fields, shown.standings))


def _fields(s: KernelStanding) -> Sequence[comma.Field]:
    k, mark = s.kernel, s.kernel.mark
    return [
        *(k.kernel, k.phase.value, k.launches, k.time_s, k.is_bound),
        *(flop_of(s, kind) for kind in KINDS),
        achieved(k),
        *(k.nbytes.get(x) for x in RoofLevel),
        *(mark.intensity(x) for x in RoofLevel),
        max((c.share for c in s.units), default=None),
        *(s.levels[x].share if x in s.levels else None for x in RoofLevel),
    ]
