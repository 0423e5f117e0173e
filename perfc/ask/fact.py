"""Facts of a report: what each says, and the fields that its numbers are from.

A path is written as JMESPath over the JSON of ``perfc analyze``: ``verdict.expected.mid``,
``sum(kernels[?kind=='conv'].predicted.time_s)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from perfc.ir.record import record
from perfc.report.document import Amount
from perfc.report.kernels import KernelRow
from perfc.report.units import Unit, quantity
from perfc.report.views import Views

Number: TypeAlias = "float | int | str | bool | None"
_PART = re.compile(r"(\w+)|\[(\d+)\]")


@record
class Citation:
    """One number and where the report has it.

    Args:
        path: of the field, or of what is added up.
        value: as the report has it.
        unit: of the value.
    """

    path: str
    value: Number
    unit: Unit

    @property
    def text(self) -> str:
        """``verdict.expected.mid = 0.00206456 s``."""
        value = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        suffix = "" if self.unit in (Unit.NONE, Unit.COUNT, Unit.SHARE) else f" {self.unit.value}"
        return f"{self.path} = {value}{suffix}"


@record
class Fact:
    """Something that a report says.

    Args:
        topic: what it is about.
        text: a sentence with its numbers.
        citations: where they are from.
    """

    topic: str
    text: str
    citations: tuple[Citation, ...]


@record
class Topic:
    """What can be asked for.

    Args:
        name: in words.
        phrases: that ask for it; words apart by spaces, alternatives of a word by bars.
        fact: what a report says of it; None where it says nothing.
        weak: phrases that ask for it where nothing else is asked for.
        under: names of more general topics that are not meant where this one is.
        absent: why a report may say nothing of it.
    """

    name: str
    phrases: tuple[str, ...]
    fact: Callable[[Views], Fact | None]
    weak: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    absent: str = ""


def cite(views: Views, path: str, unit: Unit = Unit.NONE) -> Citation:
    """The field of a path, ``verdict.limits[0].share``; counted numbers with their own unit."""
    value: object = views
    for name, index in _PART.findall(path):
        value = getattr(value, name) if name else value[int(index)]  # type: ignore[index]
    if isinstance(value, Amount):
        path, unit = f"{path}.value", value.unit
        value = value.value
    if isinstance(value, Enum):
        value = value.value
    assert value is None or isinstance(value, float | int | str | bool)
    return Citation(path, value, unit)


@record
class Selection:
    """Some of the kernels.

    Args:
        noun: what they are called, ``Conv kernels``.
        where: the condition, as JMESPath; empty for all.
        rows: that meet it.
    """

    noun: str
    where: str
    rows: tuple[KernelRow, ...]

    @property
    def path(self) -> str:
        """Of the kernels."""
        return f"kernels[?{self.where}]" if self.where else "kernels"

    def count(self) -> Citation:
        """How many there are."""
        return Citation(f"length({self.path})", len(self.rows), Unit.COUNT)

    def total(self, field: str, unit: Unit) -> Citation:
        """The sum of a field of them, ``predicted.time_s``, ``flop``; counted as in the report."""
        values = [cite_row(row, field) for row in self.rows]
        is_counted = any(isinstance(v, Amount) for v in values)
        numbers = [counted.value if isinstance(counted, Amount) else counted for counted in values]
        known = [n for n in numbers if isinstance(n, float | int)]
        path = f"sum({self.path}.{field}{'.value' if is_counted else ''})"
        return Citation(path, sum(known) if len(known) == len(values) else None, unit)


def cite_row(row: KernelRow, field: str) -> object:
    """A field of a kernel; None where a part of its path is."""
    value: object = row
    for name in field.split("."):
        value = None if value is None else getattr(value, name)
    return value


def shown(citation: Citation) -> str:
    """A number as sentences have it: ``2.06 ms``."""
    value = citation.value
    if isinstance(value, float | int) and not isinstance(value, bool):
        if citation.unit is Unit.COUNT:
            return f"{value:,.0f}"
        return quantity(float(value), citation.unit)
    return str(value)


def fact(topic: str, text: str, *citations: Citation) -> Fact | None:
    """A fact, where its first number is known."""
    if not citations or citations[0].value is None:
        return None
    return Fact(topic, text, tuple(dict.fromkeys(citations)))


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
