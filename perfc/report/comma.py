"""The kernels as comma-separated values, one line each, numbers in SI units."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from .kernels import KernelRow
from .text import printable

HEADER = (
    "index",
    "label",
    "nodes",
    "kind",
    "dtype",
    "tier",
    "launches",
    "share",
    "time_s",
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
    "predictor": "predictor",
    "predictor_class": "class_name",
    "is_extrapolating": "is_extrapolating",
    "is_measured": "is_measured",
    "energy_j": "energy_j",
    "energy_low_j": "energy_low_j",
    "energy_high_j": "energy_high_j",
    "power_w": "power_w",
}
"""Columns of the prediction; empty where none was asked for."""


def render(rows: Sequence[KernelRow]) -> str:
    """All kernels in execution order under one header line; empty where nobody knows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(list(fields(r)) for r in rows)
    return out.getvalue()


def fields(row: KernelRow) -> Iterator[str | float | None]:
    """The fields of one row in the order of ``HEADER``."""
    for name in HEADER:
        match name:
            case "nodes":
                yield harmless(" ".join(row.nodes))
            case "label":
                yield harmless(row.label)
            case "flop" | "mac" | "read_bytes" | "write_bytes":
                yield getattr(row, name).value
            case "is_bound":
                yield truth(row.is_bound)
            case _ if name in FORECAST:
                value = getattr(row.predicted, FORECAST[name], None)
                yield truth(value) if isinstance(value, bool) else value
            case _:
                yield getattr(row, name)


def truth(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def harmless(text: str) -> str:
    """``text`` that no spreadsheet takes for a formula."""
    text = printable(text)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text
