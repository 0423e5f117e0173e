"""Write the HTML page of a comparison: times with intervals, and time against cost or energy."""

from __future__ import annotations

from perfc.study.comparison import Comparison, Row
from perfc.study.comparison.slices import Slicing
from perfc.view.html.page import ChartBlock, chart_page
from perfc.view.html.payload import Json, number, text
from perfc.view.report.formats.document import Document

SCRIPTS = ("format", "theme", "canvas", "compare", "ready")
TIMES = ChartBlock(
    "times",
    "time per run",
    "Dot: predicted time. Line: 90 % interval. Mark: lower bound. Dashed: requested time.",
    "Predicted time of every row with its interval",
)


def compare_page(comparison: Comparison, shown: Document | None = None) -> str:
    """Return the comparison as a self-contained HTML document.

    Args:
        comparison: rows to draw.
        shown: document below the charts; the table of the comparison by default.
    """
    from perfc.study.comparison import recommendations

    shown = shown or comparison.document()
    charts = [TIMES]
    if axis := cost_axis(comparison):
        hint = "The line joins the Pareto front."
        charts.append(ChartBlock("cost", f"time and {axis}", hint, f"Time against {axis}"))
    lead = [*recommendations(comparison)]
    return chart_page(shown, charts, payload(comparison, axis), SCRIPTS, lead)


def slices_page(slicing: Slicing) -> str:
    """Return the slices of a card as a self-contained HTML document."""
    return compare_page(slicing.comparison, slicing.document())


def cost_axis(comparison: Comparison) -> str:
    """Return the axis against time: price if several rows have one, else energy.

    Predictors of one machine have neither: both follow their times.
    """
    if comparison.has_predictors:
        return ""
    # one dot is no chart
    priced = sum(r.price_per_million is not None for r in comparison.rows)
    if comparison.currency and priced > 1:
        item = comparison.rows[0].verdict.throughput.item
        return f"{comparison.currency} per million {item.value}"
    return "energy" if sum(r.energy_j is not None for r in comparison.rows) > 1 else ""


def payload(comparison: Comparison, axis: str) -> Json:
    """Return the data of the charts."""
    # labels name the model only if rows are of several models
    return {
        "reports": [],
        "slo_s": comparison.slo_s,
        "cost": axis,
        "cost_unit": "J" if axis == "energy" else "",
        "rows": [row(r, axis, has_model=len(comparison.models) > 1) for r in comparison.rows],
    }


def row(r: Row, axis: str, *, has_model: bool) -> Json:
    """Return the data of one row; ``label`` has what differs."""
    from perfc.study.comparison.views import way

    label = " · ".join(filter(None, (r.verdict.target, way(r), r.predictor)))
    return {
        "target": text(r.verdict.target),
        "label": text(f"{r.verdict.model} · {label}" if has_model else label),
        "time_s": number(r.time_s),
        "low_s": number(r.verdict.expected.low),
        "high_s": number(r.verdict.expected.high),
        "floor_s": number(r.verdict.floor_s),
        "cost": number(r.energy_j if axis == "energy" else r.price_per_million),
        "remark": text(r.what_if or ("" if r.fits else "does not fit in memory")),
    }
