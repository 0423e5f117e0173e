"""CSV output in SI units: kernels of a report and rows of other results."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from perfc.common.plain_text import printable

if TYPE_CHECKING:
    from ..sections.kernels import KernelRow

Field: TypeAlias = "str | float | bool | Sequence[str] | None"
HEADER = (
    "index",
    "label",
    "nodes",
    "kind",
    "dtype",
    "tier",
    "launches",
    "roofline_share",
    "roofline_time_s",
    "floor_s",
    "sustained_s",
    "launch_gap_s",
    "bound",
    "next_bound",
    "margin",
    "intensity_flop_per_byte",
    "flop",
    "mac",
    "read_bytes",
    "write_bytes",
    "device_bytes",
    "is_bound",
    "predicted_s",
    "predicted_low_s",
    "predicted_high_s",
    "predicted_wait_s",
    "predicted_gap_s",
    "predictor",
    "predictor_class",
    "is_extrapolating",
    "is_measured",
    "energy_j",
    "energy_low_j",
    "energy_high_j",
    "power_w",
)
FORECAST = {
    "predicted_s": "time_s",
    "predicted_low_s": "low_s",
    "predicted_high_s": "high_s",
    "predicted_wait_s": "wait_s",
    "predicted_gap_s": "gap_s",
    "predictor": "predictor",
    "predictor_class": "class_name",
    "is_extrapolating": "is_extrapolating",
    "is_measured": "is_measured",
    "energy_j": "energy_j",
    "energy_low_j": "energy_low_j",
    "energy_high_j": "energy_high_j",
    "power_w": "power_w",
}
"""Columns of the prediction; empty without one."""


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
