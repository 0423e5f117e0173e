"""Lay out the papers' tables as a page of Markdown, with published numbers and those of perfc."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, pstdev
from typing import Any

from perfc.ir.record import record

from ...board import RIGHT, Board, BoardTable, columns
from .published import PaperTable, PublishedColumn, PublishedLine, PublishedMetric
from .verdict import convergence, is_adequate, verdict

Result = Mapping[str, Any]
# text of a cell whose trainings ended before they converged
OPEN = "not converged"
INTRODUCTION = (
    "Predictors as their papers have them, trained on the rows that perfc can fetch. Each cell is "
    "the mean of the seeds with the deviation between them; *paper* is the paper's own number, of "
    "its own rows and machine, so that lines are compared and not numbers. Networks are "
    "{scale:.0%} of the papers' width and train until the epoch that ends after {limit_s:,.0f} s "
    "of one core, but for lines of given epochs. What is near its converged error by then is "
    "repeated in {repeated:g} times the time. *epochs* says how far they came. {standing} TraPPM's "
    "encoder learns from {pool:,} graphs that nobody measured. Where the error expected "
    "after all epochs of the recipe, extrapolated from the validation curve (→), is below 80 % "
    "of the reached one, no figure stands under the paper's name. A column is *reproduced* or "
    "its *order reversed* if four in five pairs of lines say so whose ranges over the seeds do not "
    "overlap, else *not comparable*."
)


@record
class Done:
    """A line of a table with the results of its trainings, one for each seed."""

    line: PublishedLine
    results: tuple[Result, ...]


def board(
    tables: Sequence[tuple[PaperTable, Sequence[Done]]],
    introduction: str,
    charts: Mapping[str, Sequence[str]],
    title: str = "Papers on the same rows",
) -> Board:
    """Return the board of the papers' tables.

    Args:
        tables: tables, each with the results of its lines.
        introduction: text at the start of the page.
        charts: names of the files of charts, by the key of a table.
        title: title of the page.
    """
    each = (table(published, done, charts.get(published.key, ())) for published, done in tables)
    return Board(title, tuple(each), (introduction,))


def table(published: PaperTable, done: Sequence[Done], charts: Sequence[str] = ()) -> BoardTable:
    """Return a table of the page with its rows, verdicts and charts."""
    if published.families:
        titles = ("family", *(name for d in done for name in (d.line.label, "paper")))
        rows = by_family(published, done)
    else:
        titles, rows = head(published), [cells(published, d) for d in done]
    rest = ((title, i, RIGHT) for i, title in enumerate(titles[1:], 1))
    about = f"Rows: {published.rows.value}, held out: {published.protocol.value}. {published.note}"
    outcomes = [] if published.families else list(verdicts(published, done))
    return BoardTable(
        published.key,
        f"{published.paper}, {published.name}: {published.title}",
        columns((titles[0], 0), *rest),
        rows,
        (about.strip(), *outcomes),
        tuple(f"![{published.title}]({name})" for name in charts),
    )


def standing(results: Mapping[str, Result], wanted: int, seeds: Mapping[int, int]) -> str:
    """Return sentences on how many trainings have a result, and on their time.

    Args:
        results: results by the key of their training.
        wanted: number of trainings of all seeds.
        seeds: number of results of each seed.
    """
    hours = sum(r["processor_s"] for r in results.values()) / 3600
    mean_s = 3600 * hours / max(len(results), 1)
    counts = ", ".join(f"{count} of seed {seed}" for seed, count in seeds.items())
    return (
        f"{len(results)} of {wanted} trainings stand ({counts}). They took {hours:.2f} h of one "
        f"core, {mean_s:.0f} s each, graphs encoded and rows tested included. A cell without ± is "
        "of one seed, a dash of none."
    )


def by_family(published: PaperTable, done: Sequence[Done]) -> list[tuple[str, ...]]:
    """Return a row for each family: measured and published error of each predictor."""
    rows = []
    for family, figures in published.families.items():
        row = [family]
        for d, figure in zip(done, figures, strict=True):
            adequate = d.results if all(map(is_adequate, d.results)) else ()
            errors = [r["families"][family]["mape"] for r in adequate if family in r["families"]]
            row += [spread(errors, PublishedMetric.MAPE), shown(figure, PublishedMetric.MAPE)]
        rows.append(tuple(row))
    return rows


def head(published: PaperTable) -> tuple[str, ...]:
    """Return the titles of the columns."""
    names: list[str] = [published.paper]
    for i, column in enumerate(published.columns):
        names += [column.label, "paper"] if published.states(i) else [column.label]
    return (*names, "weights", "epochs")


def verdicts(published: PaperTable, done: Sequence[Done]) -> Iterator[str]:
    """Yield a sentence on the order of lines for each column with published numbers."""
    for i, column in enumerate(published.columns):
        if published.states(i):
            numbers = [next(iter(d.line.published[i : i + 1]), None) for d in done]
            outcome, why = verdict(numbers, [numbers_of(d, column) for d in done])
            yield f"*{column.label}*: **{outcome.value}** ({why})."


def numbers_of(done: Done, column: PublishedColumn) -> list[float]:
    """Return the numbers of a column, one for each seed; none if a training is not converged."""
    if column.metric.is_of_training or all(map(is_adequate, done.results)):
        return [n for r in done.results if (n := number(r, column)) is not None]
    return []


def progress(done: Done) -> str:
    """Return the epochs of a line, and its extrapolated validation error if it is not converged."""
    came = [c for r in done.results if (c := convergence(r)) is not None]
    if not came:
        return "–"
    text = f"{mean(c.epochs for c in came):.0f} of {came[0].planned}"
    expected = [c.expected for c in came if math.isfinite(c.expected)]
    if all(c.is_adequate for c in came) or not expected:
        return text
    return f"{text}; validation {mean(c.reached for c in came):.0%} → {mean(expected):.0%}"


def cells(published: PaperTable, done: Done) -> tuple[str, ...]:
    """Return the cells of a line of the table."""
    row = [done.line.label]
    for i, column in enumerate(published.columns):
        numbers = numbers_of(done, column)
        # there are results, but of trainings too short to be compared with the paper
        is_open = not numbers and any(number(r, column) is not None for r in done.results)
        row.append(OPEN if is_open else spread(numbers, column.metric))
        if not published.states(i):
            continue
        value = done.line.published[i] if i < len(done.line.published) else None
        # papers have root mean squares in milliseconds
        scale = 1e-3 if column.metric is PublishedMetric.RMSE else 1.0
        row.append("–" if value is None else shown(value * scale, column.metric))
    weights = max((r["parameters"] for r in done.results), default=0)
    row += [f"{weights / 1e6:.2f} M" if weights else "–", progress(done)]
    return tuple(row)


def number(result: Result, column: PublishedColumn) -> float | None:
    """Return the number of a column in a result; None without rows of its slice, or if undefined.

    Kendall's τ is undefined for predictions that are all equal, for example.
    """
    if column.metric.is_of_training:
        of_training = result.get(column.metric.value)
        return None if of_training is None else float(of_training)
    row = result["slices"].get(column.slice)
    value = math.nan if row is None else float(row[column.metric.value])
    return value if math.isfinite(value) else None


def spread(numbers: Sequence[float], metric: PublishedMetric) -> str:
    """Return the mean over seeds as text, with the deviation if there are several."""
    if not numbers:
        return "–"
    middle = shown(mean(numbers), metric)
    return middle if len(numbers) < 2 else f"{middle} ± {shown(pstdev(numbers), metric)}"


def shown(value: float, metric: PublishedMetric) -> str:
    """Return a number as text in the format of its metric."""
    match metric:
        case PublishedMetric.MAPE | PublishedMetric.WITHIN_10 | PublishedMetric.FAILURES:
            return f"{value:.1%}"
        case PublishedMetric.RMSE:
            return f"{value * 1e3:.1f} ms"
        case PublishedMetric.TAU:
            return f"{value:.3f}"
        case PublishedMetric.PROCESSOR:
            return f"{value:.0f} s"
