"""Sections of documents in the form that templates need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from perfc.common.plain_text import printable
from perfc.ir import record
from perfc.view.report import Views
from perfc.view.report.formats.document import Bars, Facts, Note, Part, Section, Table
from perfc.view.report.formats.screen import facts_of, percents, plain, printed, titles
from perfc.view.report.formats.text import ScreenFigure, is_numeric, legend_of, texts_of
from perfc.view.report.sections.limits import LimitShare
from perfc.view.report.units import bucketed, quantity


@record
class ColumnHead:
    """Head of a column."""

    text: str
    is_numeric: bool
    is_name: bool


@record
class TableBlock:
    """A table; ``legend`` explains its columns."""

    kind: ClassVar[str] = "table"
    heads: tuple[ColumnHead, ...]
    legend: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]


@record
class FactRow:
    """One fact."""

    label: str
    value: str
    words: str
    formula: str


@record
class FactsBlock:
    """A list of facts."""

    kind: ClassVar[str] = "facts"
    rows: tuple[FactRow, ...]


@record
class NoteBlock:
    """A note of a sentence or two."""

    kind: ClassVar[str] = "note"
    text: str
    is_warning: bool


@record
class Bar:
    """One bar.

    Args:
        left: left edge, in percent of the width.
        width: width in percent.
        top: upper edge, in percent of the height.
        words: tooltip with its number.
    """

    left: float
    width: float
    top: float
    words: str


@record
class BarsBlock:
    """Numbers as bars.

    Args:
        text: caption.
        most: the largest number, in its unit.
        bars: left to right.
    """

    kind: ClassVar[str] = "bars"
    is_warning: ClassVar[bool] = False  # the template shows the caption as a note
    text: str
    most: str
    bars: tuple[Bar, ...]


Block: TypeAlias = TableBlock | FactsBlock | NoteBlock | BarsBlock
MOST_BARS = 240
"""Maximum number of bars; of more numbers, neighbors share a bar as high as the largest of them."""


@record
class SectionBlock:
    """One section."""

    name: str
    title: str
    parts: tuple[Block, ...]


def section_block(section: Section) -> SectionBlock:
    """Return the block of a section."""
    parts = tuple(block(p) for p in section.parts)
    return SectionBlock(section.name, printable(section.title), parts)


def block(part: Part) -> Block:
    """Return the block of a part of a section."""
    match part:
        case Table():
            titles, *rows = map(tuple, texts_of(part))
            return TableBlock(
                tuple(
                    ColumnHead(t, is_numeric(part, i), part.columns[i].is_name)
                    for i, t in enumerate(titles)
                ),
                legend_of(part, titles),
                tuple(rows),
            )
        case Facts(rows):
            return FactsBlock(
                tuple(
                    FactRow(
                        r.label,
                        str(r.value) if r.value else "",
                        printable(r.words),
                        f"= {printable(r.formula)}" if r.formula else "",
                    )
                    for r in rows
                )
            )
        case Note(text, is_warning):
            return NoteBlock(printable(text), is_warning)
        case Bars():
            return bars_block(part)


def bars_block(part: Bars) -> BarsBlock | NoteBlock:
    """Return bars that need no script, or the caption if there is nothing to draw."""
    caption, largest = printable(part.caption), max(part.values, default=0.0)
    if largest <= 0:
        return NoteBlock(caption, False)
    values = bucketed(part.values, MOST_BARS)
    # no labels if bars stand for several numbers each: a label names a single number
    labels = part.labels if len(part.labels) == len(values) else ("",) * len(values)
    width = 100 / len(values)
    drawn = tuple(
        Bar(
            round(i * width, 3),
            round(width, 3),
            round(100 - 100 * max(v, 0.0) / largest, 3),
            ": ".join(w for w in (printable(label), quantity(v, part.unit)) if w),
        )
        for i, (v, label) in enumerate(zip(values, labels, strict=True))
    )
    return BarsBlock(caption, quantity(largest, part.unit), drawn)


ONE_LINE = 100_000
"""Width larger than any title, so that only parts that never share a line are separate lines."""


@record
class LimitBlock:
    """One part of the bar of limits.

    Args:
        key: identifier in data formats, and class of its color.
        title: title of the limit.
        percent: percent of the time, rounded as on the first screen.
    """

    key: str
    title: str
    percent: int


@record
class VerdictBlock:
    """The headline of one report.

    Args:
        title: model, machine, sizes, runtime and precision.
        first: time of a run.
        rest: other figures.
        limits: parts of the time by limit, largest first.
    """

    title: str
    first: ScreenFigure
    rest: tuple[ScreenFigure, ...]
    limits: tuple[LimitBlock, ...]


def verdict_block(views: Views) -> VerdictBlock:
    """Return the headline of a report."""
    first, *rest = printed(facts_of(views))
    title = " ".join(plain(line).strip() for line in titles(views, ONE_LINE))
    return VerdictBlock(title, first, tuple(rest), limit_blocks(views.verdict.limits))


def limit_blocks(limits: Sequence[LimitShare]) -> tuple[LimitBlock, ...]:
    """Return parts of the bar of at least one percent."""
    return tuple(
        LimitBlock(limit.key, limit.title, percent)
        for limit, percent in zip(limits, percents(limits), strict=True)
        if percent
    )
