"""Figures of graph predictors as text, Markdown, JSON and charts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

from perfc.analyzers.graph.store import write_file
from perfc.view.vegalite import svg

from ..fitted_rows import sentence
from ..scoreboard import aligned, table
from .bench import GraphFigure

HEAD = (
    "predictor", "held out", "rows of", "n", "MAPE", "± folds", "median", "RMSE", "within 5 %",
    "within 10 %", "τ", "in 90 %", "trained in s", "row in ms",
)  # fmt: skip
WORDS = range(3)
COLUMNS = (
    "Tested rows are of architectures, families or machines that were not trained on.\n"
    "*MAPE* is the mean of |predicted / measured − 1|, *τ* Kendall's rank correlation, *in 90 %* "
    "the share of rows inside their interval."
)
PALE = ("#f7fbff", "#6baed6")
"""Colours that black numbers can be read on."""


def written(figures: Sequence[GraphFigure], form: str, origin: str = "") -> str:
    """The figures as ``text``, ``markdown`` or ``json``.

    Args:
        figures: of every predictor, protocol and slice.
        form: one of the three.
        origin: what wrote a page of Markdown and when, in a sentence.
    """
    match form:
        case "json":
            return json.dumps([plain(f) for f in figures], indent=2) + "\n"
        case "markdown":
            return page(figures, origin)
        case _:
            return "\n".join(aligned(HEAD, map(_cells, figures), WORDS)) + "\n"


def page(figures: Sequence[GraphFigure], origin: str) -> str:
    """A page of Markdown: what the columns are, what wrote it, and the table."""
    datasets = ", ".join(dict.fromkeys(f.dataset for f in figures))
    title = f"# Accuracy: whole models from their graphs{datasets and f', {datasets}'}"
    fitted = sentence("graph") if "timm" in datasets else ""
    parts = (title, COLUMNS, origin, table(HEAD, map(_cells, figures), WORDS), fitted)
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(figure: GraphFigure) -> Mapping[str, object]:
    """A figure as JSON has it: a number nobody has is null."""
    found = dataclasses.asdict(figure)
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in found.items()}


def _share(number: float) -> str:
    return f"{number:.1%}" if isfinite(number) else "–"


def _cells(f: GraphFigure) -> tuple[str, ...]:
    name = f.predictor if f.share >= 1 else f"{f.predictor} @ {f.share:.0%}"
    return (
        name, f.protocol, f.slice, f"{f.rows:,}", _share(f.mape), _share(f.spread),
        _share(f.median), f"{f.rmse:.3g}", _share(f.within_5), _share(f.within_10),
        f"{f.tau:.3f}" if isfinite(f.tau) else "–", _share(f.coverage), f"{f.fit_s:.0f}",
        f"{f.row_s * 1e3:.2f}",
    )  # fmt: skip


def write_plots(figures: Sequence[GraphFigure], folder: Path) -> list[Path]:
    """Charts of mean errors for each protocol, as SVG: by slice, by family, by training data.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    found: list[Path] = []
    for protocol in dict.fromkeys(f.protocol for f in figures):
        chosen = [f for f in figures if f.protocol == protocol]
        whole = [f for f in chosen if f.share >= 1]
        families = [f for f in whole if f.is_family]
        plain_slices = [f for f in whole if not f.is_family]
        charts = {"": errors_chart(protocol, plain_slices)} if plain_slices else {}
        if families:
            charts["-families"] = families_chart(protocol, families)
        if len({f.share for f in chosen}) > 1:
            charts["-curve"] = curve_chart(protocol, chosen)
        for ending, chart in charts.items():
            path = folder / f"{chosen[0].dataset}-{protocol}{ending}.svg"
            write_file(path, svg(chart).encode())
            found.append(path)
    return found


def curve_chart(protocol: str, figures: Sequence[GraphFigure]) -> Mapping[str, object]:
    """Vega-Lite of the error over the share of architectures trained on."""
    values = [
        {"predictor": f.predictor, "share": f.share, "mape": f.mape}
        for f in figures
        if f.slice == "all rows"
    ]
    return {
        "title": f"{figures[0].dataset}, held out: {protocol}",
        "background": "white",
        "width": 460,
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": "share",
                "type": "quantitative",
                "title": "share of the architectures trained on",
                "scale": {"type": "log"},
                "axis": {"format": ".0%"},
            },
            "y": {
                "field": "mape",
                "type": "quantitative",
                "title": "mean absolute relative error",
                "axis": {"format": ".0%"},
            },
            "color": {"field": "predictor", "type": "nominal"},
        },
    }


def errors_chart(protocol: str, figures: Sequence[GraphFigure]) -> Mapping[str, object]:
    """Vega-Lite of bars: predictors beside each other, one row for each slice."""
    values = [
        {"predictor": f.predictor, "slice": f.slice, "mape": f.mape, "goal": f.goal}
        for f in figures
    ]
    y = {"field": "predictor", "type": "nominal", "title": None, "sort": "x"}
    x = {
        "field": "mape",
        "type": "quantitative",
        "title": "mean absolute relative error",
        "axis": {"format": ".0%"},
    }
    bars = {"mark": "bar", "encoding": {"y": y, "x": x}}
    labels = {
        "mark": {"type": "text", "align": "left", "dx": 3},
        "encoding": {
            "y": y,
            "x": x,
            "text": {"field": "mape", "type": "quantitative", "format": ".1%"},
        },
    }
    return {
        "title": f"{figures[0].dataset}, held out: {protocol}",
        "background": "white",
        "data": {"values": values},
        "facet": {
            "row": {
                "field": "slice",
                "type": "nominal",
                "title": None,
                "sort": list(dict.fromkeys(f.slice for f in figures)),
                "header": {"labelAngle": 0, "labelAlign": "left"},
            }
        },
        "spec": {"width": 460, "layer": [bars, labels]},
    }


def families_chart(protocol: str, figures: Sequence[GraphFigure]) -> Mapping[str, object]:
    """Vega-Lite of a table of errors: families, the worst on top, beside predictors."""
    values = [{"predictor": f.predictor, "family": f.slice, "mape": f.mape} for f in figures]
    mape = {"field": "mape", "type": "quantitative", "aggregate": "mean"}
    order = {"field": "mape", "op": "mean", "order": "descending"}
    names = {"field": "predictor", "type": "nominal", "title": None}
    cells = {
        "x": {**names, "axis": {"orient": "top", "labelAngle": -45}},
        "y": {"field": "family", "type": "nominal", "title": None, "sort": order},
    }
    colour = {**mape, "title": "mean error", "scale": {"range": list(PALE)}}
    return {
        "title": f"{figures[0].dataset}, held out: {protocol}",
        "background": "white",
        "width": {"step": 60},
        "height": {"step": 14},
        "data": {"values": values},
        "layer": [
            {"mark": "rect", "encoding": {**cells, "color": colour}},
            {
                "mark": {"type": "text", "fontSize": 9},
                "encoding": {**cells, "text": {**mape, "format": ".1%"}},
            },
        ],
    }
