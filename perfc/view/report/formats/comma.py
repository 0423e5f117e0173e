"""CSV output in SI units: kernels of a report and rows of other results."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from perfc.common.fitted import data_next_to
from perfc.common.plain_text import printable

if TYPE_CHECKING:
    from ..sections.kernels import KernelRow
    from .document import Table

Field: TypeAlias = "str | float | bool | Sequence[str] | None"
_TABLE = data_next_to(__file__)
HEADER: tuple[str, ...] = tuple(_TABLE["header"])
"""Columns of kernels."""
FORECAST: dict[str, str] = _TABLE["forecast"]
"""Fields of a kernel's prediction by column; these columns are empty without a prediction."""


def render(rows: Sequence[KernelRow]) -> str:
    """Return all kernels in execution order under one header; unknown fields are empty."""
    return records(HEADER, map(fields, rows))


def records(header: Sequence[str], rows: Iterable[Iterable[Field]]) -> str:
    """Return ``rows`` under one header; unknown fields are empty, sequences of text are joined."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(harmless, header))
    writer.writerows([plain(value) for value in row] for row in rows)
    return out.getvalue()


def of(table: Table) -> str:
    """Return a table of plain cells under the names of its columns."""
    return records([c.name for c in table.columns], cast("Iterable[Iterable[Field]]", table.rows))


def plain(value: Field) -> str | float | None:
    """Convert a value to one CSV field."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return value if math.isfinite(value) else None
        case None | int():
            return value
        case str():
            return harmless(value)
        case _:
            return harmless("; ".join(value))


def fields(row: KernelRow) -> Iterator[Field]:
    """Yield the fields of one row in the order of ``HEADER``."""
    for name in HEADER:
        match name:
            case "nodes":
                yield " ".join(row.nodes)
            case "flop" | "mac" | "read_bytes" | "write_bytes":
                yield getattr(row, name).value
            case _ if name in FORECAST:
                yield getattr(row.predicted, FORECAST[name], None)
            case _:
                yield getattr(row, name)


def harmless(text: str) -> str:
    """Escape text that a spreadsheet would take for a formula."""
    text = printable(text)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text
