"""A sweep in one page: time with its range, and time an item, along the extent that is swept."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.report.document import Section
from perfc.sweep.views import interval, notes, table

from .blocks import section_block
from .page import ChartBlock, chart_page
from .payload import Json, number, text

if TYPE_CHECKING:
    from perfc.sweep import Point, Sweep

SCRIPTS = ("format", "theme", "canvas", "sweep", "ready")


def sweep_page(found: Sweep) -> str:
    """The sweep as an HTML document without any reference to the outside."""
    along = next((a.name for a in found.axes if len(a.values) > 1), found.axes[0].name)
    hint = "Line: predicted time. Band: 90 % interval. Dashed: lower bound."
    charts = [
        ChartBlock("times", "time per run", hint, "Time per run along the swept dimension"),
        ChartBlock(
            "each",
            f"time per {text(found.label(along))}",
            "Lower is more efficient.",
            "Time per run divided by the swept dimension",
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
                    [p.dims[along], number(p.time_s), *map(number, interval(p)), number(p.floor_s)]
                    for p in points
                ],
            }
            for key, points in lines.items()
        ],
    }


def _named(found: Sweep, point: Point, along: str) -> set[str]:
    return {found.at({n: v}) for n, v in point.dims.items() if n != along}
