"""Sections of the document as the template shows them: texts in their scales, nothing computed."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from perfc.ir.record import record
from perfc.plain_text import printable
from perfc.report.document import Bars, Facts, Note, Part, Section, Table
from perfc.report.text import cell_text, is_numeric, scales_of, titled


@record
class Head:
    """What stands above a column."""

    text: str
    is_numeric: bool
    is_name: bool


@record
class TableBlock:
    """A table; ``legend`` says in words what its columns mean."""

    kind: ClassVar[str] = "table"
    heads: tuple[Head, ...]
    legend: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]


@record
class FactRow:
    """One thing stated."""

    label: str
    value: str
    words: str
    formula: str


@record
class FactsBlock:
    """Things stated one below the other."""

    kind: ClassVar[str] = "facts"
    rows: tuple[FactRow, ...]


@record
class NoteBlock:
    """A sentence or two."""

    kind: ClassVar[str] = "note"
    text: str
    is_warning: bool


Block: TypeAlias = TableBlock | FactsBlock | NoteBlock


@record
class SectionBlock:
    """One section."""

    name: str
    title: str
    parts: tuple[Block, ...]


def section_block(section: Section) -> SectionBlock:
    """A section of the document."""
    parts = tuple(block(p) for p in section.parts)
    return SectionBlock(section.name, printable(section.title), parts)


def block(part: Part) -> Block:
    """A part of a section; bars are drawn by a chart, their caption stays."""
    match part:
        case Table():
            scales = scales_of(part)
            titles = [titled(c, s) for c, s in zip(part.columns, scales, strict=True)]
            return TableBlock(
                tuple(
                    Head(t, is_numeric(part, i), part.columns[i].is_name)
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
        case Bars(_, _, caption):
            return NoteBlock(printable(caption), False)
