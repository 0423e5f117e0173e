"""HTML page of the hierarchical roofline, with predicted and measured kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.view.chart import Chart, Mark, TimeBasis
from perfc.view.chart.chart import AxisLimits
from perfc.view.chart.table import columns, document
from perfc.view.report.formats.document import tabulate

from .page import ChartBlock, chart_page
from .payload import Json, decades, interned, lines, number, points, table, text

SCRIPTS = ("format", "theme", "canvas", "selection", "roofline", "ready")
ROOFLINE = ChartBlock(
    "roofline",
    "hierarchical roofline",
    "A point is a kernel at one memory level; its area is its share of the time. Hover for the "
    "kernel. Dashed: peak rate; solid: measured.",
    "Roofline; arrow keys step through the kernels",
)


def roofline_page(drawn: Chart) -> str:
    """Return the chart and its tables as a self-contained HTML document."""
    drawn = replace(drawn, window=AxisLimits(decades(drawn.window.x), decades(drawn.window.y)))
    bases = [
        [m for m in drawn.marks if (m.basis is TimeBasis.MEASURED) is is_measured]
        for is_measured in (False, True)
    ]
    # the second list, of measured kernels, is drawn over the first as hollow points; an empty list
    # draws ceilings only
    sides = [marks for marks in bases if marks] or [[]]
    data: Json = {
        "reports": [report(drawn, marks) for marks in sides],
        "hollow": "Hollow: measured." if len(sides) > 1 else "",
    }
    shown = replace(document(drawn, None), title=f"roofline: {drawn.title}")
    return chart_page(shown, [ROOFLINE], data, SCRIPTS)


def report(drawn: Chart, marks: Sequence[Mark]) -> Json:
    """Return the data of one set of kernels."""
    index = {id(mark): i for i, mark in enumerate(marks)}
    shown = [p for p in drawn.points if id(p.mark) in index]
    return {
        "label": text(drawn.title),
        "kernels_s": math.fsum(m.time_s * m.count for m in marks),
        "kernels": {
            "table": table(tabulate(columns(drawn), marks)),
            "label": interned(lambda i: text(marks[i].label), len(marks)),
            "bound": interned(lambda i: marks[i].bound or "unknown", len(marks)),
            "equal_to": list(range(len(marks))),  # equal kernels are one mark already
            "time_s": [number(m.time_s) for m in marks],
            "low_s": [None] * len(marks),
            "high_s": [None] * len(marks),
        },
        "roofline": {
            "x": drawn.window.x,
            "y": drawn.window.y,
            "lines": list(lines(drawn)),
            "points": points(shown, index),
            # kernels without arithmetic that a note counts: 0, as notes of the chart count them
            "moving": 0,
        },
    }
