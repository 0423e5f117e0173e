"""Write the HTML page of a sweep: time, and time per item, along the swept dimension."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.view.html.line_chart import SCRIPTS, chart
from perfc.view.html.page import ChartBlock, chart_page
from perfc.view.html.payload import Json, text
from perfc.view.report.formats.document import Document, Section

from .views import notes, table

if TYPE_CHECKING:
    from . import Point, Sweep


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
        # a size names the line only where it differs between points
        several = [
            size
            for size in _named(sweep, p, along)
            if any(size not in _named(sweep, q, along) for q in sweep.points)
        ]
        lines.setdefault((p.target, *several), []).append(p)
    # without sizes of 0, which have no time per item
    drawn = {
        text(" · ".join(map(str, key))): [
            (p.dims[along], (p.time_s, p.low_s, p.high_s, p.floor_s))
            for p in points
            if p.dims[along]
        ]
        for key, points in lines.items()
    }
    per_item = {  # None, as ends of intervals without a prediction, stays None
        name: [(n, tuple(t and t / n for t in times)) for n, times in points]
        for name, points in drawn.items()
    }
    return {
        "reports": [],
        "along": text(sweep.label(along)),
        "charts": [
            chart("times", "time per run", drawn, has_band=True),
            chart("each", "time per item", per_item, has_band=False),
        ],
    }


def _named(sweep: Sweep, point: Point, along: str) -> list[str]:
    """Return the sizes of a point in words, without the swept dimension."""
    return [sweep.at({n: v}) for n, v in point.dims.items() if n != along]
