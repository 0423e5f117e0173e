"""Text of a roofline chart: ceilings with sources, and kernels with their positions."""

from __future__ import annotations

from collections.abc import Iterator
from operator import methodcaller

from perfc.view.report.formats.document import (
    Cell,
    Column,
    Document,
    Note,
    Part,
    Section,
    Table,
    excerpt,
)
from perfc.view.report.units import Unit, quantity

from .chart import Chart
from .marks import Mark, TimeBasis
from .roofs import Roof, RoofLevel, Slope

TOP = 20
"""Number of kernels shown by default."""


def document(chart: Chart, top: int | None = TOP) -> Document:
    """Return the document: ceilings, then kernels, slowest first."""
    sections = [Section("ceilings", "ceilings", (ceilings(chart),))]
    if chart.marks:
        sections.append(Section("kernels", "kernels", tuple(_kernels(chart, top))))
    notes = tuple(Note(text) for text in chart.notes)
    if notes:
        sections.append(Section("notes", "notes", notes))
    return Document(f"roofline: {chart.title}", tuple(sections))


def ceilings(chart: Chart) -> Table:
    """Return the table of ceilings: peak, measured rate and ridge point at device memory."""
    columns = (
        Column("ceiling"),
        Column("peak"),
        Column("measured"),
        Column("ridge_flop_per_byte", "ridge", Unit.FLOP_PER_BYTE),
        Column("source", is_name=True),
    )
    rows = [_roof_row(chart, r) for r in chart.roofs.roofs]
    rows += [_slope_row(s) for s in chart.roofs.slopes]
    return Table(columns, tuple(rows))


def _roof_row(chart: Chart, roof: Roof) -> tuple[Cell, ...]:
    unit = Unit.FLOP_PER_S if roof.is_float else Unit.OP_PER_S
    device = chart.roofs.slope(RoofLevel.DEVICE)
    ridge = roof.reached.value / device.reached.value if device else None
    measured = quantity(roof.sustained.value, unit) if roof.sustained else None
    return roof.title, quantity(roof.peak.value, unit), measured, ridge, _source(roof)


def _slope_row(slope: Slope) -> tuple[Cell, ...]:
    peak = quantity(slope.peak.value, Unit.BYTE_PER_S)
    measured = quantity(slope.sustained.value, Unit.BYTE_PER_S) if slope.sustained else None
    return slope.level.title, peak, measured, None, _source(slope)


def _source(ceiling: Roof | Slope) -> str:
    rates = [ceiling.peak, *([ceiling.sustained] if ceiling.sustained else [])]
    return "; ".join(f"{r.source} ({r.origin})" for r in rates)


def _kernels(chart: Chart, top: int | None) -> Iterator[Part]:
    # the longest kernels of each basis: those of a profile differ from those of the analysis
    marks = [m for basis in TimeBasis for m in [x for x in chart.marks if x.basis is basis][:top]]
    yield from excerpt(columns(chart), marks, len(chart.marks), "kernel that take less time")
    for p in chart.above:
        yield Note(
            f"above the roof: {p.mark.label} at {p.level.title} reaches "
            f"{quantity(p.flop_per_s, Unit.FLOP_PER_S)}, more than the hardware peak",
            is_warning=True,
        )


def columns(chart: Chart) -> tuple[Column, ...]:
    """Return the columns of kernels."""
    levels = [
        Column(
            f"{x.value}_flop_per_byte",
            x.title,
            Unit.FLOP_PER_BYTE,
            f"flop per byte at {x.title}",
            cell=methodcaller("intensity", x),
        )
        for x in RoofLevel
    ]

    def of_roofline(mark: Mark) -> float | None:
        # the level whose ceiling the kernel is nearest to limits it
        shares = (p.of_roof for p in chart.points if p.mark is mark and p.of_roof is not None)
        return max(shares, default=None)

    total = "total of equal kernels; computed times include launching"
    lowest = "rate over the lowest measured ceiling"
    return (
        Column("kernel", is_name=True, cell=name_of),
        Column("basis"),
        Column("time_s", "time", Unit.SECOND, total, cell=lambda m: m.time_s * m.count),
        Column("count", "count", Unit.COUNT, "equal kernels"),
        Column("flop_per_s", "rate", Unit.FLOP_PER_S, "flop per second in that time"),
        *levels,
        Column("of_roofline", "of roofline", Unit.SHARE, lowest, cell=of_roofline),
        Column("roof", cell=lambda m: f"{m.dtype} {m.unit.value}"),
        Column("bound", "limited by"),
    )


def name_of(mark: Mark) -> str:
    """Return the name of a kernel, after its phase if it has one."""
    return f"{mark.phase}: {mark.label}" if mark.phase else mark.label
