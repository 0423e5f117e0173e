"""Scores of held-out rows, and boards of titled tables as text, Markdown or JSON.

A `Score` is a line; commands of `perfc eval` write a `Board`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfc.ir.record import frozen
from perfc.view.presentation import WIDTH
from perfc.view.report.formats import markdown, text
from perfc.view.report.formats.document import Column, Document, Note, Section, Table
from perfc.view.report.formats.json_form import enveloped, strict
from perfc.view.report.units import Unit

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

# name and version of the boards' JSON
SCHEMA = "perfc-eval/1"
DASH, RIGHT = "–", ">"
"""Cell of an undefined number, and the format of text that is aligned to the right."""


@frozen
class Score:
    """The errors of one predictor on one slice of held-out rows; NaN where a number is undefined.

    Args:
        split: how rows were held out.
        slice: name of the rows.
        rows: number of rows tested.
        mape: mean of ``|predicted / measured − 1|``.
        median: median of the same errors.
        coverage: share of rows inside their prediction interval.
        floor_holds: share of rows not below their lower bound.
        width: median of the interval's upper over lower end.
        goal: goal of ``mape``; None where none is set.
        anchor: the best figure published, in words.
        source: table or data set of the rows.
        predictor: name of the predictor.
        quantity: what was measured and predicted.
        bias: mean error with its sign.
        rmse: root mean square, in the unit of the quantity.
        within_5: share of rows with an error of at most 5 %.
        within_10: share of rows with an error of at most 10 %.
        tau: Kendall's τ-b.
        folds: number of trainings that the rows were tested by.
        spread: standard deviation of ``mape`` between folds.
        fit_s: time of the training.
        row_s: time of the prediction of one row.
        share: share of the architectures that could be trained on.
        is_family: True if the slice is the architecture family of that name.
        unanswered: number of rows without a prediction.
    """

    split: str
    slice: str
    rows: int
    mape: float
    median: float
    coverage: float = math.nan
    floor_holds: float = math.nan
    width: float = math.nan
    goal: float | None = None
    anchor: str = ""
    source: str = ""
    predictor: str = ""
    quantity: str = ""
    bias: float = math.nan
    rmse: float = math.nan
    within_5: float = math.nan
    within_10: float = math.nan
    tau: float = math.nan
    folds: int = 1
    spread: float = math.nan
    fit_s: float = math.nan
    row_s: float = math.nan
    share: float = 1.0
    is_family: bool = False
    unanswered: int = 0

    @property
    def met(self) -> bool:
        """Return True if the goal is reached or none is set."""
        return self.goal is None or self.mape <= self.goal


def score(
    split: str,
    part: str,
    measured: Array,
    predicted: Array,
    low: Array | None = None,
    high: Array | None = None,
    floor: Array | None = None,
    *,
    has_order: bool = False,
    **labels: Any,
) -> Score:
    """Return the score of a slice from its predicted and measured numbers.

    Args:
        split: how rows were held out.
        part: name of the slice.
        measured: numbers measured; without any, all figures are NaN.
        predicted: predicted numbers.
        low: lower ends of the prediction intervals.
        high: upper ends.
        floor: lower bounds.
        has_order: True to compare the order of the rows too, which takes quadratic time.
        labels: further fields of the score; they replace what is computed here.
    """
    # without rows the two figures that have no default are NaN too
    count, figures = len(measured), dict[str, Any](mape=math.nan, median=math.nan)
    if count:
        signed = predicted / measured - 1
        errors = np.abs(signed)
        squared = (predicted - measured) ** 2
        figures = {
            "mape": float(errors.mean()),
            "median": float(np.median(errors)),
            "bias": float(signed.mean()),
            "rmse": float(np.sqrt(squared.mean())),
            "within_5": float((errors <= 0.05).mean()),
            "within_10": float((errors <= 0.10).mean()),
        }
        if low is not None and high is not None:
            figures["coverage"] = coverage_of(measured, low, high)
            figures["width"] = float(np.median(high / low))
        if floor is not None:
            figures["floor_holds"] = float((floor <= measured).mean())
        if has_order:
            figures["tau"] = kendall_tau(measured, predicted)
    return Score(split, part, **{"rows": count, **figures, **labels})


def kendall_tau(a: Array, b: Array) -> float:
    """Return Kendall's τ-b, ties counted (Kendall, "The treatment of ties", Biometrika 1945).

    >>> import numpy as np
    >>> kendall_tau(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    0.6666666666666666
    """
    # concordant pairs less discordant ones, and pairs that are ties in a or in b
    concordant, ties_a, ties_b = 0.0, 0.0, 0.0
    count = len(a)
    for i in range(count - 1):
        # each pair once: i with all that follow it
        da, db = np.sign(a[i + 1 :] - a[i]), np.sign(b[i + 1 :] - b[i])
        concordant += float((da * db).sum())
        ties_a += float((da == 0).sum())
        ties_b += float((db == 0).sum())
    pairs = count * (count - 1) / 2
    # τ-b: (concordant − discordant) / √((pairs − ties in a) (pairs − ties in b))
    denominator = ((pairs - ties_a) * (pairs - ties_b)) ** 0.5
    return concordant / denominator if denominator else math.nan


def coverage_by_fold(
    ratios: Sequence[float],
    folds: Sequence[Hashable],
    ends: Callable[[Hashable], tuple[float, float] | None],
) -> tuple[float, float]:
    """Return coverage and median width of intervals that are set on the rows of other folds.

    Args:
        ratios: measured over predicted numbers.
        folds: fold of each row.
        ends: returns the ends of the interval of a fold; None leaves its rows out.
    """
    inside, widths = 0, list[float]()
    for fold in dict.fromkeys(folds):
        if (interval := ends(fold)) is not None:
            tested = [r for r, name in zip(ratios, folds, strict=True) if name == fold]
            inside += sum(interval[0] <= r <= interval[1] for r in tested)
            # once for each row, so that the median is over rows
            widths += [interval[1] / interval[0]] * len(tested)
    return (inside / len(widths), median(widths)) if widths else (math.nan, math.nan)


@frozen
class BoardColumn:
    """A column of a table: its title, and the value of a row.

    Args:
        title: heading.
        value: attribute or index of the row, or a function of it.
        spec: format of numbers, which are aligned to the right; empty for words.
    """

    title: str
    value: str | int | Callable[[Any], object]
    spec: str = ""

    def cell(self, row: Any) -> str:
        """Return the cell of a row; empty for None, a dash for NaN and infinity."""
        match self.value:
            case str(name):
                value = getattr(row, name)
            case int(index):
                value = row[index]
            case function:
                value = function(row)
        match value:
            case None | str():
                return value or ""
            case Enum():
                return str(value.value)
            case float() if not math.isfinite(value):
                return DASH
        return format(value, self.spec)


# attribute, index or function of a row, as `BoardColumn.value`
Value: TypeAlias = "str | int | Callable[[Any], object]"
Wanted: TypeAlias = "str | tuple[str, Value] | tuple[str, Value, str]"
"""Arguments of a column; a text alone is an attribute, and its words are the title."""


def columns(*wanted: Wanted) -> tuple[BoardColumn, ...]:
    """Return the columns of a table."""
    arguments = ((w.replace("_", " "), w) if isinstance(w, str) else w for w in wanted)
    return tuple(BoardColumn(*each) for each in arguments)


@frozen
class BoardTable:
    """A titled table with notes.

    Args:
        name: key in JSON.
        title: heading; empty for none.
        fields: columns; none for notes alone.
        rows: rows of any type that the columns read.
        before: notes above the table, in Markdown.
        after: notes below it.
        data: content in JSON, if other than the rows.
    """

    name: str
    title: str
    fields: tuple[BoardColumn, ...] = ()
    rows: Sequence[Any] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    data: object = None

    @property
    def table(self) -> Table:
        """Return the table as a part of a document."""
        # cells are text already: the unit only aligns numbers to the right
        table_columns = tuple(
            Column(f.title.replace(" ", "_"), f.title, Unit.COUNT if f.spec else Unit.NONE)
            for f in self.fields
        )
        return Table(table_columns, tuple(tuple(f.cell(r) for f in self.fields) for r in self.rows))

    def markdown(self) -> list[str]:
        """Return the paragraphs of the table with its title and notes."""
        heading = [f"## {markdown.escaped(self.title)}"] if self.title else []
        lines = ["\n".join(markdown.table_lines(self.table))] if self.fields else []
        return [*heading, *self.before, *lines, *self.after]

    def section(self) -> Section:
        """Return the table with its notes for plain text."""
        parts = (self.table,) if self.fields else ()
        before, after = ([Note(_plain(n)) for n in notes] for notes in (self.before, self.after))
        return Section(self.name, self.title or self.name, (*before, *parts, *after))


@frozen
class Board:
    """A page of titled tables.

    Args:
        title: title of the page.
        tables: in their order.
        notes: paragraphs below the title, in Markdown.
    """

    title: str
    tables: tuple[BoardTable, ...]
    notes: tuple[str, ...] = ()

    def written(self, form: str, origin: str = "") -> str:
        """Return the board as ``text``, ``markdown`` or ``json``.

        Args:
            form: one of the three.
            origin: command that wrote a page of Markdown and its date, in a sentence.
        """
        match form:
            case "json":
                rows = {t.name: t.rows if t.data is None else t.data for t in self.tables}
                return strict(enveloped(SCHEMA, {"title": self.title, **rows}), indent=2) + "\n"
            case "markdown":
                parts = [f"# {markdown.escaped(self.title)}", *self.notes, origin]
                parts += [part for table in self.tables for part in table.markdown()]
                return "\n\n".join(part.strip() for part in parts if part) + "\n"
        # plain text has neither the notes of the page nor its origin
        return text.render(Document(self.title, tuple(t.section() for t in self.tables)), WIDTH)


def _plain(words: str) -> str:
    """Return Markdown as plain text: without emphasis and code spans."""
    return words.replace("*", "").replace("`", "").replace("\n", " ")


def coverage_of(time_s: Array, low_s: Array, high_s: Array) -> float:
    """Return the share of times that lie in their intervals."""
    return float(((time_s >= low_s) & (time_s <= high_s)).mean())
