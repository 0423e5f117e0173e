"""Format-independent documents: sections of tables, facts and notes with unformatted numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

from perfc.ir import Dim, Poly, record

from ..units import Unit, plural, quantity


@record
class Amount:
    """A number with its unit and its symbolic formula.

    Args:
        value: value at the sizes of the symbols; None if unknown.
        unit: unit of the value.
        formula: formula over the symbols; a plain number if it has none.
        is_bound: True for a lower bound, because part of the model is unknown.
    """

    value: float | None
    unit: Unit
    formula: Dim | None = None
    is_bound: bool = False

    @property
    def symbolic(self) -> str:
        """Return the formula as text if it has symbols, otherwise empty."""
        return str(self.formula) if isinstance(self.formula, Poly) else ""

    def __str__(self) -> str:
        text = quantity(self.value, self.unit)
        if not self.is_bound or self.value is None:
            return text
        # "≥ <1 ns" would be no bound, and zero is one
        return f"≥ {quantity(0, self.unit) if text[0] == '<' else text}"


def in_seconds(value: float | None) -> Amount:
    """Return a time as a cell or fact."""
    return Amount(value, Unit.SECOND)


def in_bytes(value: float | None) -> Amount:
    """Return a size as a cell or fact."""
    return Amount(value, Unit.BYTE)


@record
class Name:
    """A long name and its abbreviation for narrow output.

    Args:
        full: full name.
        short: shorter name; if shortened, its ``leading`` first characters and its end remain.
        leading: number of leading characters that remain.
    """

    full: str
    short: str
    leading: int = 0


Cell: TypeAlias = "str | float | Name | Amount | None"
"""Text, a number in the unit of its column, a name, a number with its unit, or None if unknown."""

UNITS = {"s": Unit.SECOND, "bytes": Unit.BYTE}
"""Units by the last part of a column's name in data formats."""


@record
class Column:
    """A column of a table.

    Args:
        name: name in data formats, with the unit: ``time_s``.
        title: heading in text, by default the name; the unit is appended when the prefix is known.
        unit: unit of plain numbers.
        legend: meaning of the number if the title does not tell it.
        is_name: True for a column that takes the remaining width and is shortened first.
        wraps: True to wrap long cells instead of shortening them.
        is_spare: True for a column that narrow pages omit, the last one first.
        pair: name of the preceding column that is omitted together with this one.
        cell: cell of an item; by default its attribute of the column's name.
    """

    name: str
    title: str | None = None
    unit: Unit = Unit.NONE
    legend: str = ""
    is_name: bool = False
    wraps: bool = False
    is_spare: bool = False
    pair: str = ""
    cell: Callable[[Any], Cell] | None = field(default=None, compare=False)

    @property
    def heading(self) -> str:
        """Return the heading in text, without a unit."""
        return self.name if self.title is None else self.title

    def of(self, item: object) -> Cell:
        """Return the cell of an item; times and sizes without a unit get that of the name."""
        if self.cell is not None:
            return self.cell(item)
        value: Any = getattr(item, self.name)
        # an enum stands for its value
        value = getattr(value, "value", value) if isinstance(value, Enum) else value
        unit = UNITS.get(self.name.rpartition("_")[2])
        return Amount(value, unit) if unit and self.unit is Unit.NONE else value


@record
class Table:
    """A table of columns and rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def only(self, shown: Sequence[int]) -> Table:
        """Return the table of some columns."""
        rows = tuple([tuple([row[i] for i in shown]) for row in self.rows])
        return Table(tuple([self.columns[i] for i in shown]), rows)


def tabulate(columns: Iterable[Column], items: Iterable[object]) -> Table:
    """Return the table with one row for each item."""
    columns = tuple(columns)
    return Table(columns, tuple([tuple([c.of(item) for c in columns]) for item in items]))


def excerpt(
    columns: Iterable[Column], shown: Sequence[object], total: int, what: str
) -> Iterator[Table | Note]:
    """Yield the table of the items that are shown, and a note on the number of others.

    Args:
        columns: columns.
        shown: items, one row each.
        total: number of all items.
        what: name of an item, then how others differ: ``kernel with less time``.
    """
    yield tabulate(columns, shown)
    if hidden := total - len(shown):
        noun, space, others = what.partition(" ")
        yield Note(f"and {plural(hidden, noun)}{space}{others}; --top all")


@record
class Fact:
    """A labeled number with an explanation.

    Args:
        label: label of the fact.
        value: number; None if there are only words.
        words: explanation.
        formula: formula of the number.
    """

    label: str
    value: Amount | None
    words: str
    formula: str = ""


@record
class Facts:
    """A list of facts."""

    rows: tuple[Fact, ...]


@record
class Note:
    """A note of a sentence or two; warnings are highlighted."""

    text: str
    is_warning: bool = False


@record
class Bars:
    """Numbers drawn as a line of small bars.

    Args:
        values: numbers in order.
        unit: unit of the numbers.
        caption: description of the numbers.
        labels: tooltip of each bar; empty without tooltips.
    """

    values: tuple[float, ...]
    unit: Unit
    caption: str
    labels: tuple[str, ...] = ()


Part: TypeAlias = "Table | Facts | Note | Bars"


@record
class Section:
    """One section of a document."""

    name: str
    title: str
    parts: tuple[Part, ...]


@record
class Document:
    """A complete document."""

    title: str
    sections: tuple[Section, ...]
