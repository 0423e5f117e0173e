"""Facts of a report, with the fields that their numbers are from.

A path is written as JMESPath over the JSON of ``perfc analyze``: ``verdict.expected.mid``,
``sum(kernels[?kind=='conv'].predicted.time_s)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from perfc.ir.record import record
from perfc.view.report.formats.document import Amount
from perfc.view.report.sections.kernels import KernelRow
from perfc.view.report.units import Unit, quantity
from perfc.view.report.views import Views

Number: TypeAlias = "float | int | str | bool | None"
_PART = re.compile(r"(\w+)|\[(\d+)\]")


@record
class Citation:
    """A number and its field in the report.

    Args:
        path: path of the field, or of the summed fields.
        value: value in the report.
        unit: unit of the value.
    """

    path: str
    value: Number
    unit: Unit

    @property
    def text(self) -> str:
        """Citation as text: ``verdict.expected.mid = 0.00206456 s``."""
        value = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        suffix = "" if self.unit in (Unit.NONE, Unit.COUNT, Unit.SHARE) else f" {self.unit.value}"
        return f"{self.path} = {value}{suffix}"


@record
class ReportFact:
    """A fact of a report.

    Args:
        topic: topic of the fact.
        text: sentence with its numbers.
        citations: sources of the numbers.
    """

    topic: str
    text: str
    citations: tuple[Citation, ...]


@record
class Topic:
    """A topic of questions.

    Args:
        name: name of the topic.
        phrases: phrases that ask for it; spaces separate words, bars alternatives of a word.
        fact: function that returns the fact of a report; None if the report has none.
        weak: phrases that ask for it only if nothing else is requested.
        under: names of more general topics that this one replaces.
        absent: why a report may have no such fact.
    """

    name: str
    phrases: tuple[str, ...]
    fact: Callable[[Views], ReportFact | None]
    weak: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    absent: str = ""


def cite(views: Views, path: str, unit: Unit = Unit.NONE) -> Citation:
    """Return the field at a path, ``verdict.limits[0].share``; amounts bring their own unit."""
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
    """A selection of kernels.

    Args:
        noun: name of the selection, ``Conv kernels``.
        where: condition as JMESPath; empty for all kernels.
        rows: kernels that meet the condition.
    """

    noun: str
    where: str
    rows: tuple[KernelRow, ...]

    @property
    def path(self) -> str:
        """JMESPath of the selected kernels."""
        return f"kernels[?{self.where}]" if self.where else "kernels"

    def count(self) -> Citation:
        """Return the number of kernels."""
        return Citation(f"length({self.path})", len(self.rows), Unit.COUNT)

    def total(self, field: str, unit: Unit) -> Citation:
        """Return the sum of a field, ``predicted.time_s`` or ``flop``, over the kernels."""
        values = [cite_row(row, field) for row in self.rows]
        is_counted = any(isinstance(v, Amount) for v in values)
        numbers = [counted.value if isinstance(counted, Amount) else counted for counted in values]
        known = [n for n in numbers if isinstance(n, float | int)]
        path = f"sum({self.path}.{field}{'.value' if is_counted else ''})"
        return Citation(path, sum(known) if len(known) == len(values) else None, unit)


def cite_row(row: KernelRow, field: str) -> object:
    """Return a field of a kernel; None if a part of its path is None."""
    value: object = row
    for name in field.split("."):
        value = None if value is None else getattr(value, name)
    return value


def shown(citation: Citation) -> str:
    """Format the number of a citation for a sentence: ``2.06 ms``."""
    value = citation.value
    if isinstance(value, float | int) and not isinstance(value, bool):
        if citation.unit is Unit.COUNT:
            return f"{value:,.0f}"
        return quantity(float(value), citation.unit)
    return str(value)


def fact(topic: str, text: str, *citations: Citation) -> ReportFact | None:
    """Return a fact, or None if its first number is unknown."""
    if not citations or citations[0].value is None:
        return None
    return ReportFact(topic, text, tuple(dict.fromkeys(citations)))


def listed(words: Sequence[str]) -> str:
    """Join words as a list: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
