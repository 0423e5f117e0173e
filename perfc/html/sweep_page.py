"""A sweep in one page: time with its range, and time an item, along the extent that is swept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.report.document import Amount, Column, Note, Section, Table
from perfc.report.units import Unit

from .blocks import section_block
from .page import ChartBlock, chart_page
from .payload import Json, number, text

if TYPE_CHECKING:
    from perfc.sweep import Point, Sweep

SCRIPTS = ("format", "theme", "canvas", "sweep", "ready")


def sweep_page(found: Sweep) -> str:
    """The sweep as an HTML document without any reference to the outside."""
    along = next((a.name for a in found.axes if len(a.values) > 1), found.axes[0].name)
    hint = "Line: expected time. Band: nine in ten runs. Dashed: no run is faster."
    charts = [
        ChartBlock("times", "time of a run", hint, "Time of a run along the swept extent"),
        ChartBlock(
            "each",
            f"time for each of {text(found.label(along))}",
            "Lower is a better use of the machine.",
            "Time of a run over the swept extent",
        ),
    ]
    sections = [
        section_block(Section("points", "points", (table(found),))),
        section_block(Section("regimes", "regimes and memory", tuple(notes(found)))),
    ]
    title = f"{text(PurePath(found.model).name or 'model')} along {text(found.label(along))}"
    return chart_page(title, charts, sections, payload(found, along), SCRIPTS)


def payload(found: Sweep, along: str) -> Json:
    """One line for each target, and for each value of the other extents."""
    lines: dict[tuple[object, ...], list[Point]] = {}
    for p in found.points:
        others = tuple(found.at({n: v}) for n, v in p.dims.items() if n != along)
        several = [o for o in others if any(o not in _named(found, q, along) for q in found.points)]
        lines.setdefault((p.target, *several), []).append(p)
    return {
        "reports": [],
        "along": text(found.label(along)),
        "lines": [
            {
                "name": text(" · ".join(map(str, key))),
                "points": [
                    [p.dims[along], number(p.time_s), *interval(p), number(p.floor_s)]
                    for p in points
                ],
            }
            for key, points in lines.items()
        ],
    }


def _named(found: Sweep, point: Point, along: str) -> set[str]:
    return {found.at({n: v}) for n, v in point.dims.items() if n != along}


def interval(point: Point) -> tuple[float | None, float | None]:
    """The ends of nine in ten runs, where there is a prediction."""
    if point.predicted is None:
        return None, None
    return number(point.predicted.low_s), number(point.predicted.high_s)


def table(found: Sweep) -> Table:
    """Every point."""
    names = [a.name for a in found.axes]
    columns = (
        Column("target", "target"),
        *(Column(name, text(found.label(name)), Unit.COUNT) for name in names),
        Column("time_s", "time"),
        Column("low_s", "low"),
        Column("high_s", "high"),
        Column("floor_s", "at best"),
        Column("memory_bytes", "memory"),
        Column("bound", "bound"),
    )

    def seconds(value: float | None) -> Amount:
        return Amount(value, Unit.SECOND)

    rows = tuple(
        (
            p.target,
            *(p.dims[name] for name in names),
            seconds(p.time_s),
            *map(seconds, interval(p)),
            seconds(p.floor_s),
            Amount(p.memory_bytes, Unit.BYTE),
            p.regime.value,
        )
        for p in found.points
    )
    return Table(columns, rows)


def notes(found: Sweep) -> Iterator[Note]:
    """Where regimes change and what fits, in words."""
    from perfc.sweep.text import capacity_in_words, in_words

    for c in found.crossovers:
        if c.what == "model":
            yield Note(text(f"{c.target}: {in_words(c.spans, found.label(c.symbol))}"))
    for capacity in found.capacities:
        yield Note(
            text(f"{capacity.target}: {capacity_in_words(capacity, found.label(capacity.symbol))}")
        )
