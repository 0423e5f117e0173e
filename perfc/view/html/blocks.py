"""Sections of documents in the form that templates need."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from perfc.common.plain_text import printable
from perfc.ir import record
from perfc.view.report.formats.document import Bars, Facts, Note, Part, Section, Table
from perfc.view.report.formats.text import cell_text, is_numeric, scales_of, titled
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
            scales = scales_of(part)
            titles = [titled(c, s) for c, s in zip(part.columns, scales, strict=True)]
            return TableBlock(
                tuple(
                    ColumnHead(t, is_numeric(part, i), part.columns[i].is_name)
                    for i, t in enumerate(titles)
                ),
                tuple((t, c.legend) for t, c in zip(titles, part.columns, strict=True) if c.legend),
                tuple(
                    tuple(cell_text(c, s) for c, s in zip(row, scales, strict=True))
                    for row in part.rows
                ),
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
