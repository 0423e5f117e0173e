"""Notebook output of documents: facts, tables and notes as HTML without script."""

from __future__ import annotations

from ..units import DASH, Unit, quantity
from .document import Amount, Cell, Column, Document, Facts, Name, Note, Table
from .notebook import template
from .text import clipped

TEMPLATE = "notebook_document.html.j2"
ROWS = 24
"""Maximum number of rows of a table."""


def render(document: Document) -> str:
    """Return the document as self-contained HTML; names from files are escaped."""
    parts = [p for s in document.sections for p in s.parts]
    facts = [f for p in parts if isinstance(p, Facts) for f in p.rows]
    tables = [p for p in parts if isinstance(p, Table)]
    return (
        template(TEMPLATE)
        .render(
            title=clipped(document.title),
            facts=[(f.label, str(f.value or ""), clipped(f.words)) for f in facts],
            tables=[laid_out(t) for t in tables],
            notes=[clipped(p.text) for p in parts if isinstance(p, Note)],
        )
        .strip()
    )


def laid_out(table: Table) -> dict[str, object]:
    """Return column heads and cells, each with a flag for numbers."""
    rows = [
        [(shown(cell, c), is_number(cell)) for cell, c in zip(row, table.columns, strict=True)]
        for row in table.rows[:ROWS]
    ]
    heads = [
        (c.heading, is_number(table.rows[0][i]) if table.rows else False)
        for i, c in enumerate(table.columns)
    ]
    return {"heads": heads, "rows": rows, "more": max(len(table.rows) - ROWS, 0)}


def is_number(cell: Cell) -> bool:
    """Return True if a cell is aligned to the right."""
    return isinstance(cell, Amount | float | int)


def shown(cell: Cell, column: Column) -> str:
    """Format a cell as text."""
    match cell:
        case None:
            return DASH
        case Name(full=full):
            return clipped(full)
        case str():
            return clipped(cell)
        case Amount():
            return str(cell)
        case _:
            return quantity(cell, column.unit) if column.unit is not Unit.NONE else str(cell)
