"""Draw the charts of the papers' tables: losses, predicted against measured, embeddings, curves.

They are SVG files next to the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.store import write_file
from perfc.view.vegalite import svg

from ...charts import axis, chart, colored
from .neighbours import plane_chart
from .page import Done, number
from .published import PaperTable, PublishedMetric

MOST_MARKS = 200
"""Approximate maximum of marks in a chart: its file is part of the documentation and stays
small."""
UNITS: Mapping[str, tuple[str, float]] = {
    Quantity.TIME.value: ("ms", 1e3),
    Quantity.MEMORY.value: ("MB", 1e-6),
    Quantity.ENERGY.value: ("J", 1.0),
    Quantity.POWER.value: ("W", 1.0),
    Quantity.SM_ACTIVE.value: ("%", 100.0),
}
"""Unit of an axis, and the factor to it from perfc's unit, by quantity."""
CURVE_TITLES: Mapping[PublishedMetric, str] = {
    PublishedMetric.MAPE: "MAPE",
    PublishedMetric.WITHIN_10: "Acc(10)",
}


def write_charts(published: PaperTable, done: Sequence[Done], folder: Path) -> list[str]:
    """Write the charts of a table as files and return their names.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    # tables by family have no charts
    if published.families:
        return []
    names = []
    for ending, drawn in (
        ("loss", loss_chart(published, done)),
        ("scatter", scatter_chart(published, done)),
        *besides_charts(published, done),
        ("embeddings", embeddings_chart(done) if published.has_embeddings else None),
    ):
        if drawn is not None:
            name = f"{published.key}-{ending}.svg"
            write_file(folder / name, svg(drawn).encode())
            names.append(name)
    return names


def write_curve(published: PaperTable, done: Sequence[Done], folder: Path) -> list[str]:
    """Write the chart of errors by number of rows of a new machine or model, and return its name.

    Without results the list is empty.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    drawn = curve_chart(published, done)
    if drawn is None:
        return []
    name = f"{published.key}.svg"
    write_file(folder / name, svg(drawn).encode())
    return [name]


def curve_chart(published: PaperTable, done: Sequence[Done]) -> Mapping[str, object] | None:
    """Return the chart with one line per predictor, the mean over seeds in percent (Figure 7.3)."""
    metric = published.columns[0].metric
    values = [
        {"predictor": d.line.label, "rows": count, "percent": 100 * mean(numbers)}
        for d in done
        for count, column in zip(published.curve, published.columns, strict=True)
        if (numbers := [n for r in d.results if (n := number(r, column)) is not None])
    ]
    if not values:
        return None
    # Acc(10) has an axis from 0, MAPE one of several magnitudes
    kind = "log" if metric is PublishedMetric.MAPE else "linear"
    x = {**axis("rows", "rows seen", type="log", base=2), "axis": {"values": list(published.curve)}}
    y = axis("percent", f"{CURVE_TITLES[metric]}, %", type=kind)
    mark = {"type": "line", "point": True}
    encoding = {"x": x, "y": y, "color": colored("predictor")}
    return chart(published.title, values, mark, encoding=encoding)


def embeddings_chart(done: Sequence[Done]) -> Mapping[str, object] | None:
    """Return the chart of the embeddings of the first line that has some (TraPPM's Figure 5.4)."""
    for line in done:
        for result in line.results:
            if result.get("places"):
                return plane_chart(f"Embeddings of {line.line.label}, by t-SNE", result["places"])
    return None


def loss_chart(published: PaperTable, done: Sequence[Done]) -> Mapping[str, object] | None:
    """Return the chart of losses by epoch, of each line's first seed (TraPPM's Figure 5.5)."""
    values = [
        {"predictor": d.line.label, "epoch": epoch, "loss": loss}
        for d in done
        for epoch, loss in (d.results[0]["curve"] if d.results else ())
        if loss > 0  # the axis is logarithmic
    ]
    if not values:
        return None
    x, y = axis("epoch"), axis("loss", "loss", type="log")
    encoding = {"x": x, "y": y, "color": colored("predictor")}
    return chart(published.title, values, "line", encoding=encoding)


def scatter_chart(published: PaperTable, done: Sequence[Done]) -> Mapping[str, object] | None:
    """Return the chart of predicted against measured, of the first line (Figures 4.4 and 5.6)."""
    if not done or not done[0].results:
        return None
    title = f"{done[0].line.label}: {published.title}"
    return scatter(title, published.quantity.value, done[0].results[0]["points"])


def besides_charts(
    published: PaperTable, done: Sequence[Done]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the end of the file's name and the scatter chart of each further quantity."""
    if not done or not done[0].results:
        return
    for column in published.columns:
        points = done[0].results[0]["points_besides"].get(column.slice)
        if points:
            title = f"{done[0].line.label}: {published.title}, {column.label}"
            yield f"scatter-{column.slice}", scatter(title, column.slice, points)


def scatter(title: str, quantity: str, points: Sequence[Sequence[float]]) -> Mapping[str, object]:
    """Return a scatter chart of points, pairs of a measured and a predicted number."""
    unit, scale = UNITS[quantity]
    values = [
        {"measured": scale * m, "predicted": scale * p}
        for m, p in points[:: max(len(points) // MOST_MARKS, 1)]
    ]
    x, y = (axis(name, f"{name}, {unit}", type="log") for name in ("measured", "predicted"))
    mark = {"type": "square", "size": 9, "aria": False}
    return chart(title, values, mark, width=320, height=320, encoding={"x": x, "y": y})
