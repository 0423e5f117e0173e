"""HTML page of a published predictor of language models: its answer next to perfc's, by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.view.html.line_chart import SCRIPTS, ChartPoint, chart
from perfc.view.html.page import ChartBlock, chart_page
from perfc.view.html.payload import Json
from perfc.view.report.formats.document import Document, Note, Section
from perfc.view.report.units import Unit, quantity

if TYPE_CHECKING:
    from perfc.deployment.prices import Region

    from .published import ModelRun, PublishedPrediction

UNITS = {Unit.COUNT: "", Unit.BYTE: "B", Unit.JOULE: "J"}
HINT = "Line: predicted. Band: 90 % interval. Large dot: the batch of the table."


def published_page(name: str, run: ModelRun, grid: Region) -> str:
    """Return a predictor's answer and perfc's for a run as a self-contained HTML document.

    Args:
        name: name of the predictor.
        run: the model and how it is run.
        grid: electricity grid of the CO2.

    Raises:
        PerfcError: the predictor has no answer; without one of perfc the page says why.
    """
    from perfc.serving.output import published_view as view
    from perfc.serving.output.published import published
    from perfc.serving.output.simulated import BATCHES, along_batch, simulated

    answer, reference, reason = published(name, run), None, ""
    lines = [list(along_batch(run, answer, lambda each: published(name, each)))]
    try:
        reference = simulated(run)
        # a simulation takes longer than a published predictor: every other batch only
        lines.append(list(along_batch(run, reference, simulated, BATCHES[::2])))
    except PerfcError as error:
        reason = f"perfc has no answer: {error}"
    predictions = [answer] if reference is None else [answer, reference]
    table = Section("table", "predictions", (view.compared(predictions, grid),))
    sources = [
        Section(p.predictor, p.predictor, (Note(p.title), *view.notes(p))) for p in predictions
    ]
    why = [Section("reason", "perfc", (Note(reason, is_warning=True),))] if reason else []
    return chart_page(
        Document(view.title(answer), (table, *sources, *why)),
        charts_of(answer),
        payload(run, lines),
        SCRIPTS,
        lead(predictions),
    )


def lead(known: Sequence[PublishedPrediction]) -> list[str]:
    """Return one line per quantity with the values of all predictions."""
    from perfc.serving.output.published_view import rows_of

    sides = [(p.predictor, rows_of(p)) for p in known]
    lines = []
    # `rows_of` has the same quantities in the same order for all predictions
    for i, row in enumerate(sides[0][1]):
        each = [(who, rows[i].value) for who, rows in sides]
        values = [f"{who} {quantity(v.value, row.unit) if v else 'none'}" for who, v in each]
        lines.append(f"{row.name}: {', '.join(values)} {row.per}".rstrip())
    return lines


def charts_of(answer: PublishedPrediction) -> list[ChartBlock]:
    """Return a chart of each quantity along the batch."""
    from perfc.serving.output.published_view import rows_of

    return [
        ChartBlock(row.name, f"{row.name} by batch", HINT, f"Predicted {row.name} by batch")
        for row in rows_of(answer)
        if row.value is not None
    ]


def payload(run: ModelRun, lines: Sequence[Sequence[PublishedPrediction]]) -> Json:
    """Return a chart per quantity with one line per predictor."""
    from perfc.serving.output.published_view import rows_of

    charts = [
        chart(
            row.name,
            " ".join(filter(None, (row.name, row.per))),
            {points[0].predictor: [*points_of(points, i)] for points in lines},
            UNITS[row.unit],
            has_band=True,
        )
        for i, row in enumerate(rows_of(lines[0][0]))
        if row.value is not None
    ]
    return {"reports": [], "along": "batch", "at": run.batch, "charts": charts}


def points_of(points: Iterable[PublishedPrediction], i: int) -> Iterator[ChartPoint]:
    """Yield batch, value and interval of one quantity; no lower bound."""
    from perfc.serving.output.published_view import rows_of

    for p in points:
        if (v := rows_of(p)[i].value) is not None:
            yield p.batch, (v.value, v.low, v.high, None)
