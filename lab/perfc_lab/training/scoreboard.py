"""The scoreboard as text, Markdown, JSON and a chart."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfc.analyzers.artefacts.artefact import SHIPPED, record
from perfc.common.whole_file import write_whole
from perfc.view.vegalite import svg

from .evaluate import SliceErrors
from .experiments import Experiment
from .fitted_rows import sentence

Board = Mapping[Experiment, Sequence[SliceErrors]]
COLUMNS = (
    "*n* counts the rows tested. *MAPE* is the mean of |predicted / measured − 1| over them, "
    "*median* its median.\n*in 90 %* is the share of rows inside their interval, *floor holds* "
    "the share that took no less than their floor."
)
HEAD = ("held out", "rows of", "n", "MAPE", "median", "goal", "in 90 %", "floor holds", "anchor")
WORDS = (0, 1, 8)
"""Columns that begin at the left."""


def written(board: Board, form: str, origin: str = "") -> str:
    """The scoreboard as ``text``, ``markdown`` or ``json``.

    Args:
        board: figures by experiment.
        form: one of the three.
        origin: what wrote a page of Markdown and when, in a sentence.
    """
    match form:
        case "json":
            content = {e.name: [dataclasses.asdict(f) for f in fs] for e, fs in board.items()}
            return json.dumps(content, indent=2) + "\n"
        case "markdown":
            return page(board, origin)
        case _:
            return "\n".join(_text(board)) + "\n"


def _cells(figure: SliceErrors) -> tuple[str, ...]:
    goal = "" if figure.goal is None else f"{figure.goal:.0%}{'' if figure.met else ' missed'}"
    return (
        figure.split,
        figure.slice,
        f"{figure.rows:,}",
        f"{figure.mape:.1%}",
        f"{figure.median:.1%}",
        goal,
        f"{figure.coverage:.1%}",
        f"{figure.floor_holds:.2%}",
        figure.anchor,
    )


def page(board: Board, origin: str) -> str:
    """A page of Markdown: what is held out, what wrote it, and a table for each experiment."""
    if len(board) == 1:
        ((experiment, figures),) = board.items()
        parts = [f"# Accuracy: {experiment.title}", experiment.held_out, COLUMNS, origin]
        parts += [table(HEAD, map(_cells, figures), WORDS), sentence(experiment.name)]
    else:
        parts = ["# Accuracy on held-out rows", COLUMNS, origin]
        for experiment, figures in board.items():
            shown = table(HEAD, map(_cells, figures), WORDS)
            head = f"## {experiment.title}"
            parts += [head, experiment.held_out, shown, sentence(experiment.name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: Container[int]) -> str:
    """A table of Markdown; columns that are no ``words`` end at the right."""
    rule = ["---" if index in words else "---:" for index in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def aligned(
    head: Sequence[str], rows: Iterable[Sequence[str]], words: Container[int]
) -> Iterator[str]:
    """The same as lines of plain text."""
    table = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            cell.ljust(width) if index in words else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _text(board: Board) -> Iterator[str]:
    for experiment, figures in board.items():
        yield experiment.title
        yield from (f"  {line}" for line in aligned(HEAD, map(_cells, figures), WORDS))
        yield ""


def into_cards(board: Board, folder: Path = SHIPPED) -> None:
    """Write the figures into the cards of the weights they speak of."""
    for experiment, figures in board.items():
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


def write_plot(board: Board, path: Path) -> None:
    """Bars of the mean error, a tick at its goal, as SVG; written in one step.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    write_whole(path, svg(errors_chart(board)).encode())


def errors_chart(board: Board) -> Mapping[str, object]:
    """Vega-Lite of every figure's mean error; red where it misses its goal."""
    values = [
        {
            "row": f"{experiment.name}: {figure.slice}, {figure.split}",
            "mape": figure.mape,
            "goal": figure.goal,
            "met": figure.met,
        }
        for experiment, figures in board.items()
        for figure in figures
    ]
    row = {"field": "row", "type": "nominal", "sort": None, "title": None}
    axis = {"type": "quantitative", "title": "mean absolute error", "axis": {"format": "%"}}
    colour = {
        "field": "met",
        "type": "nominal",
        "scale": {"domain": [True, False], "range": ["#4c78a8", "#e45756"]},
        "legend": None,
    }
    error = {"y": row, "x": {"field": "mape", **axis}}
    goal = {"y": row, "x": {"field": "goal", **axis}}
    return {
        "background": "white",
        "width": 460,
        "data": {"values": values},
        "layer": [
            {"mark": "bar", "encoding": {**error, "color": colour}},
            {
                "mark": {"type": "text", "align": "right", "dx": -3, "color": "white"},
                "encoding": {**error, "text": {"field": "mape", "format": ".1%"}},
            },
            {"mark": {"type": "tick", "color": "black", "thickness": 2}, "encoding": goal},
        ],
        "config": {"axisY": {"labelLimit": 480}},
    }
