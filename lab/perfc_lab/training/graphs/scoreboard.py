"""The board of graph predictors, and its charts.

`perfc eval graph` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perfc.analyzers.graph.store import write_file
from perfc.view.vegalite import svg

from ...board import Board, BoardTable, Score, columns
from ...charts import axis, chart, colored, labels, names
from ..scoreboard import sentence

COLUMNS = columns(
    ("predictor", lambda f: f.predictor if f.share >= 1 else f"{f.predictor} @ {f.share:.0%}"),
    ("held out", "split"),
    ("rows of", "slice"),
    ("n", "rows", ","),
    ("MAPE", "mape", ".1%"),
    ("± folds", "spread", ".1%"),
    ("median", "median", ".1%"),
    ("RMSE", "rmse", ".3g"),
    ("within 5 %", "within_5", ".1%"),
    ("within 10 %", "within_10", ".1%"),
    ("τ", "tau", ".3f"),
    ("in 90 %", "coverage", ".1%"),
    ("trained in s", "fit_s", ".0f"),
    ("row in ms", lambda f: f.row_s * 1e3, ".2f"),
)
LEGEND = (
    "Tested rows are of architectures, families or machines that were not trained on.\n"
    "*MAPE* is the mean of |predicted / measured − 1|, *τ* Kendall's rank correlation, *in 90 %* "
    "the share of rows inside their interval."
)
PALE = ("#f7fbff", "#6baed6")
"""Ends of a scale of colors on which black numbers are legible."""
ERROR = "mean absolute relative error"


def board(scores: Sequence[Score]) -> Board:
    """Return the board of every predictor, protocol and slice."""
    datasets = ", ".join(dict.fromkeys(f.source for f in scores))
    title = f"Accuracy: whole models from their graphs{datasets and f', {datasets}'}"
    # constants were fitted on rows of timm alone
    fitted = sentence("graph") if "timm" in datasets else ""
    return Board(title, (BoardTable("scores", "", COLUMNS, scores, after=(fitted,)),), (LEGEND,))


def write_plots(scores: Sequence[Score], folder: Path) -> list[Path]:
    """Write charts of mean errors for each protocol, as SVG: by slice, family, training data.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    paths: list[Path] = []
    for protocol in dict.fromkeys(f.split for f in scores):
        chosen = [f for f in scores if f.split == protocol]
        whole = [f for f in chosen if f.share >= 1]
        # scores on a share of the training data belong to the curve alone
        families = [f for f in whole if f.is_family]
        plain_slices = [f for f in whole if not f.is_family]
        charts = {"": errors_chart(plain_slices)} if plain_slices else {}
        if families:
            charts["-families"] = families_chart(families)
        if len({f.share for f in chosen}) > 1:
            charts["-curve"] = curve_chart(chosen)
        for ending, drawn in charts.items():
            path = folder / f"{chosen[0].source}-{protocol}{ending}.svg"
            write_file(path, svg(drawn).encode())
            paths.append(path)
    return paths


def _title(scores: Sequence[Score]) -> str:
    """Return the title of a chart of one protocol."""
    return f"{scores[0].source}, held out: {scores[0].split}"


def curve_chart(scores: Sequence[Score]) -> Mapping[str, object]:
    """Return a chart of the error over the share of architectures trained on."""
    values = [
        {"predictor": f.predictor, "share": f.share, "mape": f.mape}
        for f in scores
        if f.slice == "all rows"
    ]
    x = axis("share", "share of the architectures trained on", ".0%", type="log")
    encoding = {"x": x, "y": axis("mape", ERROR, ".0%"), "color": colored("predictor")}
    mark = {"type": "line", "point": True}
    return chart(_title(scores), values, mark, width=460, encoding=encoding)


def errors_chart(scores: Sequence[Score]) -> Mapping[str, object]:
    """Return a chart of bars: predictors next to each other, one row for each slice."""
    values = [
        {"predictor": f.predictor, "slice": f.slice, "mape": f.mape, "goal": f.goal} for f in scores
    ]
    encoding = {"y": names("predictor", sort="x"), "x": axis("mape", ERROR, ".0%")}
    order = list(dict.fromkeys(f.slice for f in scores))
    row = names("slice", sort=order, header={"labelAngle": 0, "labelAlign": "left"})
    bars = {"mark": "bar", "encoding": encoding}
    layer = [bars, labels(encoding, "mape", ".1%", align="left", dx=3)]
    result = chart(_title(scores), values, facet={"row": row}, spec={"width": 460, "layer": layer})
    # each facet has its width in ``spec``; Vega-Lite takes no width for the chart of facets
    return {k: v for k, v in result.items() if k != "width"}


def families_chart(scores: Sequence[Score]) -> Mapping[str, object]:
    """Return a table of mean errors as a chart: predictors by families, the worst family on top."""
    values = [{"predictor": f.predictor, "family": f.slice, "mape": f.mape} for f in scores]
    mape = {"field": "mape", "type": "quantitative", "aggregate": "mean"}
    order = {"field": "mape", "op": "mean", "order": "descending"}
    cells = {
        "x": names("predictor", axis={"orient": "top", "labelAngle": -45}),
        "y": names("family", sort=order),
    }
    color = {**mape, "title": "mean error", "scale": {"range": list(PALE)}}
    text = labels(cells, "mape", ".1%", fontSize=9)
    text["encoding"]["text"]["aggregate"] = "mean"
    layer = [{"mark": "rect", "encoding": {**cells, "color": color}}, text]
    size = {"width": {"step": 60}, "height": {"step": 14}}
    return chart(_title(scores), values, layer=layer, **size)
