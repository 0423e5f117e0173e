"""HTML page of a sweep: time with its interval, and time per item, along the swept dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

from perfc.study.sweep.views import interval, notes, table
from perfc.view.report.formats.document import Document, Section

from ..page import ChartBlock, chart_page
from ..payload import Json, number, text

if TYPE_CHECKING:
    from perfc.study.sweep import Point, Sweep

ChartPoint: TypeAlias = tuple[int, tuple[float | None, ...]]
"""Size, then value, interval and lower bound there."""
SCRIPTS = ("format", "theme", "canvas", "sweep", "ready")


def sweep_page(sweep: Sweep) -> str:
    """Return the sweep as a self-contained HTML document."""
    along = next((a.name for a in sweep.axes if len(a.values) > 1), sweep.axes[0].name)
    hint = "Line: predicted time. Band: 90 % interval. Dashed: lower bound."
    charts = [
        ChartBlock("times", "time per run", hint, "Time per run along the swept dimension"),
        ChartBlock(
            "each",
            f"time per {text(sweep.label(along))}",
            "Lower is more efficient.",
            "Time per run divided by the swept dimension",
        ),
    ]
    sections = (
        Section("points", "points", (table(sweep),)),
        Section("regimes", "regimes and memory", tuple(notes(sweep))),
    )
    title = f"{text(PurePath(sweep.model).name or 'model')} along {text(sweep.label(along))}"
    return chart_page(Document(title, sections), charts, payload(sweep, along), SCRIPTS)


def payload(sweep: Sweep, along: str) -> Json:
    """Return two charts with one line per target and value of the other dimensions."""
    lines: dict[tuple[object, ...], list[Point]] = {}
    for p in sweep.points:
        others = tuple(sweep.at({n: v}) for n, v in p.dims.items() if n != along)
        several = [o for o in others if any(o not in _named(sweep, q, along) for q in sweep.points)]
        lines.setdefault((p.target, *several), []).append(p)
    drawn = {
        text(" · ".join(map(str, key))): [
            (p.dims[along], (p.time_s, *interval(p), p.floor_s)) for p in points if p.dims[along]
        ]
        for key, points in lines.items()
    }
    each = {
        name: [(n, tuple(t and t / n for t in times)) for n, times in points]
        for name, points in drawn.items()
    }
    return {
        "reports": [],
        "along": text(sweep.label(along)),
        "charts": [
            chart("times", "time per run", drawn, has_band=True),
            chart("each", "time per item", each, has_band=False),
        ],
    }


def chart(
    name: str,
    title: str,
    lines: Mapping[str, Sequence[ChartPoint]],
    unit: str = "s",
    *,
    has_band: bool,
) -> Json:
    """Return the data of one chart.

    Args:
        name: name of the section.
        title: title of the vertical axis.
        lines: points by name of the line.
        unit: unit of the values.
        has_band: draw the interval as a band.
    """
    return {
        "id": name,
        "name": title,
        "unit": unit,
        "has_band": has_band,
        "lines": [
            {"name": text(name), "points": [[n, *map(number, values)] for n, values in points]}
            for name, points in lines.items()
        ],
    }


def _named(sweep: Sweep, point: Point, along: str) -> set[str]:
    return {sweep.at({n: v}) for n, v in point.dims.items() if n != along}
