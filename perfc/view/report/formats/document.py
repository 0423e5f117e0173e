"""Format-independent documents: sections of tables, facts and notes with unformatted numbers."""

from __future__ import annotations

from typing import TypeAlias

from perfc.ir import Dim, Poly, record

from ..units import Unit, quantity


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
        return f"≥ {text}" if self.is_bound and self.value is not None else text


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


@record
class Column:
    """A column of a table.

    Args:
        name: name in data formats, with the unit: ``time_s``.
        title: heading in text; the unit is appended when the prefix is known.
        unit: unit of plain numbers.
        legend: meaning of the number if the title does not tell it.
        is_name: True for a column that takes the remaining width and is shortened first.
        wraps: True to wrap long cells instead of shortening them.
        is_spare: True for a column that narrow pages omit, the last one first.
        pair: name of the preceding column that is omitted together with this one.
    """

    name: str
    title: str
    unit: Unit = Unit.NONE
    legend: str = ""
    is_name: bool = False
    wraps: bool = False
    is_spare: bool = False
    pair: str = ""


@record
class Table:
    """A table of columns and rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


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
