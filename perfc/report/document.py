"""The document a report is before it is text: sections of tables and notes, numbers unformatted."""

from __future__ import annotations

from typing import TypeAlias

from perfc.ir.dim import Dim, Poly
from perfc.ir.record import record

from .units import Unit, quantity


@record
class Amount:
    """A counted number with the formula it is the value of.

    Args:
        value: at the values of the symbols; None where nobody knows.
        unit: what it counts.
        formula: over the symbols; a plain number where none occurs.
        is_bound: the truth may be larger, because something is not known.
    """

    value: float | None
    unit: Unit
    formula: Dim | None = None
    is_bound: bool = False

    @property
    def symbolic(self) -> str:
        """The formula where it has symbols, else nothing."""
        return str(self.formula) if isinstance(self.formula, Poly) else ""

    def __str__(self) -> str:
        text = quantity(self.value, self.unit)
        return f"≥ {text}" if self.is_bound and self.value is not None else text


@record
class Name:
    """A long name and what stands for it where there is little room.

    Args:
        full: all of it.
        short: less of it; shortened further, its first ``kept`` characters and its end stay.
        kept: characters that stay in front.
    """

    full: str
    short: str
    kept: int = 0


Cell: TypeAlias = "str | float | Name | Amount | None"
"""Text, a number in its column's unit, a name, a number with its own unit, or nothing known."""


@record
class Column:
    """A column of a table.

    Args:
        name: as data formats write it, with the unit: ``time_s``.
        title: as people read it; the unit is added when the prefix is known.
        unit: of its plain numbers.
        legend: what the number means, in words, where the title does not say it.
        is_name: takes the room that is left, and is shortened first.
        wraps: goes on in the next line instead of being shortened.
        is_spare: left out of text where a narrow page leaves names no room; the last goes first.
        pair: name of the column before it that is left out with it.
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
    """Rows under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@record
class Fact:
    """One thing stated: its name, its number if it has one, and words.

    Args:
        label: what it is.
        value: the number, None where words say it all.
        words: what it means.
        formula: what the number is the value of.
    """

    label: str
    value: Amount | None
    words: str
    formula: str = ""


@record
class Facts:
    """Things stated one below the other."""

    rows: tuple[Fact, ...]


@record
class Note:
    """A sentence or two; ``is_warning`` ones must not be missed."""

    text: str
    is_warning: bool = False


@record
class Bars:
    """Numbers along one axis, drawn as a line of small bars.

    Args:
        values: in order.
        unit: of them.
        caption: what they are.
        labels: what each is of, for those who point at it; empty where nobody said.
    """

    values: tuple[float, ...]
    unit: Unit
    caption: str
    labels: tuple[str, ...] = ()


Part: TypeAlias = "Table | Facts | Note | Bars"


@record
class Section:
    """What one view shows."""

    name: str
    title: str
    parts: tuple[Part, ...]


@record
class Document:
    """A whole report."""

    title: str
    sections: tuple[Section, ...]
