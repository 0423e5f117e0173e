"""Lay out the scores of experiments as a page, a chart and entries of cards.

`perfc eval` calls it for experiments on kernels, steps and runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perfc.analyzers.artefacts.artefact import SHIPPED
from perfc.common.whole_file import write_whole
from perfc.view.vegalite import svg
from perfc_lab.data.fitted import every_constant

from ..board import RIGHT, Board, BoardTable, Score, columns
from ..charts import axis, chart, labels, names
from ..data.weights import record
from .experiments import Experiment

Scores = Mapping[Experiment, Sequence[Score]]
LEGEND = (
    "*n* counts the rows tested. *MAPE* is the mean of |predicted / measured − 1| over them, "
    "*median* its median.\n*in 90 %* is the share of rows inside their interval, *floor holds* "
    "the share that took no less than their floor."
)


def _goal(score: Score) -> str:
    """Return the goal of a score, and whether it was missed; empty without one."""
    return "" if score.goal is None else f"{score.goal:.0%}{'' if score.met else ' missed'}"


COLUMNS = columns(
    ("held out", "split"),
    ("rows of", "slice"),
    ("n", "rows", ","),
    ("MAPE", "mape", ".1%"),
    ("median", "median", ".1%"),
    ("goal", _goal, RIGHT),
    ("in 90 %", "coverage", ".1%"),
    ("floor holds", "floor_holds", ".2%"),
    "anchor",
)
# titles of the columns
HEAD = tuple(column.title for column in COLUMNS)


def board(scores: Scores) -> Board:
    """Return the board of experiments: what is held out, and a table for each."""
    # a single experiment titles the page, and its table needs no heading
    if len(scores) == 1:
        ((experiment, of_experiment),) = scores.items()
        table = BoardTable(
            experiment.name, "", COLUMNS, of_experiment, after=(sentence(experiment.name),)
        )
        return Board(f"Accuracy: {experiment.title}", (table,), (experiment.held_out, LEGEND))
    tables = [
        BoardTable(e.name, e.title, COLUMNS, of_experiment, (e.held_out,), (sentence(e.name),))
        for e, of_experiment in scores.items()
    ]
    return Board("Accuracy on held-out rows", tuple(tables), (LEGEND,))


def into_cards(scores: Scores, folder: Path = SHIPPED) -> None:
    """Write the figures of each experiment into the card of its weights, if they are shipped."""
    for experiment, figures in scores.items():
        path = folder / f"{experiment.name}.json"
        if path.exists():
            record(
                path,
                {
                    f"{f.split}: {f.slice}": {
                        "rows": float(f.rows),
                        "mape": round(f.mape, 5),
                        "median": round(f.median, 5),
                        "coverage": round(f.coverage, 5),
                        "floor_holds": round(f.floor_holds, 6),
                    }
                    for f in figures
                },
            )


def write_plot(scores: Scores, path: Path) -> None:
    """Write a chart of mean errors, each with a tick at its goal, as SVG.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    write_whole(path, svg(errors_chart(scores)).encode())


def errors_chart(scores: Scores) -> Mapping[str, object]:
    """Return a Vega-Lite chart of every figure's mean error; red where it misses its goal."""
    values = [
        {
            "row": f"{experiment.name}: {figure.slice}, {figure.split}",
            "mape": figure.mape,
            "goal": figure.goal,
            "met": figure.met,
        }
        for experiment, figures in scores.items()
        for figure in figures
    ]
    row, color = names("row", sort=None), names("met", legend=None)
    color["scale"] = {"domain": [True, False], "range": ["#4c78a8", "#e45756"]}
    error = {"y": row, "x": axis("mape", "mean absolute error", "%")}
    goal = {"y": row, "x": axis("goal", "mean absolute error", "%")}
    layer = [
        {"mark": "bar", "encoding": {**error, "color": color}},
        labels(error, "mape", ".1%", align="right", dx=-3, color="white"),
        {"mark": {"type": "tick", "color": "black", "thickness": 2}, "encoding": goal},
    ]
    return chart("", values, width=460, layer=layer, config={"axisY": {"labelLimit": 480}})


def sentence(page: str) -> str:
    """Return a sentence that names the constants fitted on tested rows of a page; "" if none is."""
    # names by the lines of the page that they concern; "" for all lines
    by_lines: dict[str, list[str]] = {}
    for _, name, constant in every_constant():
        if constant.held_out and page in constant.pages:
            by_lines.setdefault(constant.pages[page], []).append(name)
    names = {k: ", ".join(f"`{n}`" for n in v) for k, v in by_lines.items()}
    parts = [f"Fitted on tested rows{k and f' ({k})'}: {v}" for k, v in names.items()]
    return ". ".join(parts) + " ([constants](../constants.md))." if parts else ""
