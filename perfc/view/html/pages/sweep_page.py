"""HTML page of a sweep: time with its interval, and time per item, along the swept dimension."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.study.sweep.views import interval, notes, table
from perfc.view.report.formats.document import Section

from ..blocks import section_block
from ..page import ChartBlock, chart_page
from ..payload import Json, number, text

if TYPE_CHECKING:
    from perfc.study.sweep import Point, Sweep

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
    sections = [
        section_block(Section("points", "points", (table(sweep),))),
        section_block(Section("regimes", "regimes and memory", tuple(notes(sweep)))),
    ]
    title = f"{text(PurePath(sweep.model).name or 'model')} along {text(sweep.label(along))}"
    return chart_page(title, charts, sections, payload(sweep, along), SCRIPTS)


def payload(sweep: Sweep, along: str) -> Json:
    """Return one line per target and value of the other dimensions."""
    lines: dict[tuple[object, ...], list[Point]] = {}
    for p in sweep.points:
        others = tuple(sweep.at({n: v}) for n, v in p.dims.items() if n != along)
        several = [o for o in others if any(o not in _named(sweep, q, along) for q in sweep.points)]
        lines.setdefault((p.target, *several), []).append(p)
    return {
        "reports": [],
        "along": text(sweep.label(along)),
        "lines": [
            {
                "name": text(" · ".join(map(str, key))),
                "points": [
                    [p.dims[along], number(p.time_s), *map(number, interval(p)), number(p.floor_s)]
                    for p in points
                ],
            }
            for key, points in lines.items()
        ],
    }


def _named(sweep: Sweep, point: Point, along: str) -> set[str]:
    return {sweep.at({n: v}) for n, v in point.dims.items() if n != along}
