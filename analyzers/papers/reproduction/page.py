"""The papers' tables beside ours, as a page of Markdown with charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from perfc.ir.record import record
from perfc.vegalite import svg

from ...graph.store import write_file
from ...training.scoreboard import table as markdown_table
from .neighbours import chart as plane_chart
from .published import Column, Line, Metric, PaperTable

Result = Mapping[str, Any]
INTRODUCTION = (
    "Predictors as their papers have them, trained on the rows that perfc can fetch. Each cell is "
    "the mean of the seeds with the deviation between them; *paper* is the paper's own number, of "
    "its own rows and machine, so that lines are compared and not numbers. Networks are "
    "{scale:.0%} of the papers' width and train for at most {limit_s:,.0f} s of one core; *epochs* "
    "says how far they came."
)


@record
class Done:
    """A line with its results, one a seed."""

    line: Line
    results: tuple[Result, ...]


def page(
    tables: Sequence[tuple[PaperTable, Sequence[Done]]],
    introduction: str,
    origin: str,
    charts: Mapping[str, Sequence[str]],
    title: str = "Papers on the same rows",
) -> str:
    """Every table under its paper.

    Args:
        tables: with what was trained for them.
        introduction: a paragraph.
        origin: what wrote the page and when, in a sentence.
        charts: names of files by the keys of tables.
        title: of the page.
    """
    parts = [f"# {title}", introduction, origin]
    paper = ""
    for published, done in tables:
        if published.paper != paper:
            paper = published.paper
            parts.append(f"## {paper}")
        parts += [
            f"### {published.name}: {published.title}",
            f"Rows: {published.rows.value}, held out: {published.protocol.value}. {published.note}",
            markdown_table(head(published), [cells(published, d) for d in done], range(1)),
            *(f"![{published.title}]({name})" for name in charts.get(published.key, ())),
        ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def head(published: PaperTable) -> tuple[str, ...]:
    """Names of the columns."""
    names: list[str] = [published.paper]
    for i, column in enumerate(published.columns):
        names += [column.label, "paper"] if published.states(i) else [column.label]
    return (*names, "weights", "epochs")


def cells(published: PaperTable, done: Done) -> tuple[str, ...]:
    """One line of the table."""
    found = [done.line.label]
    for i, column in enumerate(published.columns):
        numbers = [n for r in done.results if (n := number(r, column)) is not None]
        found.append(spread(numbers, column.metric))
        if not published.states(i):
            continue
        stated = done.line.published[i] if i < len(done.line.published) else None
        # the papers state root mean squares in milliseconds
        scale = 1e-3 if column.metric is Metric.RMSE else 1.0
        found.append("–" if stated is None else shown(stated * scale, column.metric))
    weights = max((r["parameters"] for r in done.results), default=0)
    epochs = [len(r["curve"]) for r in done.results if r["curve"]]
    found.append(f"{weights / 1e6:.2f} M" if weights else "–")
    found.append(f"{mean(epochs):.0f}" if epochs else "–")
    return tuple(found)


def number(result: Result, column: Column) -> float | None:
    """A column of a result; None where no row was of its slice."""
    if column.metric.is_of_training:
        of_training = result.get(column.metric.value)
        return None if of_training is None else float(of_training)
    row = result["slices"].get(column.slice)
    return None if row is None else float(row[column.metric.value])


def spread(numbers: Sequence[float], metric: Metric) -> str:
    """Mean and deviation of the seeds."""
    if not numbers:
        return "–"
    middle = shown(mean(numbers), metric)
    return middle if len(numbers) < 2 else f"{middle} ± {shown(pstdev(numbers), metric)}"


def shown(value: float, metric: Metric) -> str:
    """A number as its metric is written."""
    match metric:
        case Metric.MAPE | Metric.WITHIN_10 | Metric.FAILURES:
            return f"{value:.1%}"
        case Metric.RMSE:
            return f"{value * 1e3:.1f} ms"
        case Metric.TAU:
            return f"{value:.3f}"
        case Metric.PROCESSOR:
            return f"{value:.0f} s"


def write_charts(published: PaperTable, done: Sequence[Done], folder: Path) -> list[str]:
    """Loss by epoch and predictions against measurements, as files; their names.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    names = []
    for ending, chart in (
        ("loss", loss_chart(published, done)),
        ("scatter", scatter_chart(published, done)),
        ("embeddings", embeddings_chart(done)),
    ):
        if chart is not None:
            name = f"{published.key}-{ending}.svg"
            write_file(folder / name, svg(chart).encode())
            names.append(name)
    return names


def embeddings_chart(done: Sequence[Done]) -> Mapping[str, object] | None:
    """Places of the first line that has embeddings."""
    for line in done:
        for result in line.results:
            if result.get("places"):
                return plane_chart(f"Embeddings of {line.line.label}, by t-SNE", result["places"])
    return None


def loss_chart(published: PaperTable, done: Sequence[Done]) -> Mapping[str, object] | None:
    """Loss of every line's first seed by epoch (TraPPM's Figures 5.5 and 5.7)."""
    values = [
        {"predictor": d.line.label, "epoch": epoch, "loss": loss}
        for d in done
        for epoch, loss in (d.results[0]["curve"] if d.results else ())
        if loss > 0
    ]
    if not values:
        return None
    y = {"field": "loss", "type": "quantitative", "scale": {"type": "log"}, "title": "loss"}
    return {
        "title": published.title,
        "background": "white",
        "width": 420,
        "data": {"values": values},
        "mark": "line",
        "encoding": {
            "x": {"field": "epoch", "type": "quantitative"},
            "y": y,
            "color": {"field": "predictor", "type": "nominal"},
        },
    }


def scatter_chart(published: PaperTable, done: Sequence[Done]) -> Mapping[str, object] | None:
    """Predicted against measured times of the first line (Figures 4.4 and 5.6)."""
    if not done or not done[0].results:
        return None
    values = [{"measured": 1e3 * m, "predicted": 1e3 * p} for m, p in done[0].results[0]["points"]]
    axes = {
        name: {
            "field": name,
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": f"{name} ms",
        }
        for name in ("measured", "predicted")
    }
    return {
        "title": f"{done[0].line.label}: {published.title}",
        "background": "white",
        "width": 320,
        "height": 320,
        "data": {"values": values},
        "mark": {"type": "point", "size": 12},
        "encoding": {"x": axes["measured"], "y": axes["predicted"]},
    }
