"""The scoreboard as text, Markdown, JSON and a chart."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from perfc.whole_file import write_whole

from ..artefact import SHIPPED, record
from .evaluate import Figure
from .experiments import Experiment

Board = Mapping[Experiment, Sequence[Figure]]
HEAD = ("held out", "rows of", "n", "MAPE", "median", "goal", "in 90 %", "floor holds", "anchor")


def written(board: Board, form: str) -> str:
    """The scoreboard as ``text``, ``markdown`` or ``json``."""
    match form:
        case "json":
            content = {e.name: [dataclasses.asdict(f) for f in fs] for e, fs in board.items()}
            return json.dumps(content, indent=2) + "\n"
        case "markdown":
            return "\n".join(_markdown(board)) + "\n"
        case _:
            return "\n".join(_text(board)) + "\n"


def _cells(figure: Figure) -> tuple[str, ...]:
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


def _markdown(board: Board) -> Iterator[str]:
    for experiment, figures in board.items():
        yield f"### {experiment.title}\n"
        yield f"| {' | '.join(HEAD)} |"
        yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
        for figure in figures:
            yield f"| {' | '.join(_cells(figure))} |"
        yield ""


def _text(board: Board) -> Iterator[str]:
    for experiment, figures in board.items():
        yield experiment.title
        table = [HEAD, *map(_cells, figures)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = (
                cell.ljust(width) if index in (0, 1, 8) else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            yield "  " + "  ".join(cells).rstrip()
        yield ""


def into_cards(board: Board, folder: Path = SHIPPED) -> None:
    """Write the figures into the cards of the weights they speak of."""
    for experiment, figures in board.items():
        path = folder / f"{experiment.name}.toml"
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
    """Bars of the mean error, a tick at its goal, as SVG; written in one step."""
    figures = [(e, f) for e, fs in board.items() for f in fs]
    top = max((f.mape for _, f in figures), default=0.0) or 1.0
    height, left, width = 18, 420, 360
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" '
        f'height="{height * (len(figures) + 1)}" font-family="sans-serif" font-size="11">'
    ]
    for index, (experiment, figure) in enumerate(figures):
        y = height * index + 4
        label = escape(f"{experiment.name}: {figure.slice}, {figure.split}")
        length = width * figure.mape / top
        colour = "#4c78a8" if figure.met else "#e45756"
        lines.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{label}</text>')
        lines.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="14" fill="{colour}"/>')
        lines.append(f'<text x="{left + length + 4:.1f}" y="{y + 11}">{figure.mape:.1%}</text>')
        if figure.goal is not None:
            x = left + width * min(figure.goal / top, 1.0)
            lines.append(f'<path d="M{x:.1f} {y - 2}v18" stroke="black"/>')
    lines.append("</svg>\n")
    write_whole(path, "\n".join(lines).encode())
