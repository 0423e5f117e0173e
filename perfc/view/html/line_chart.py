"""Data of charts of lines along a size, drawn by the script ``sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .payload import Json, number, text

ChartPoint: TypeAlias = tuple[int, tuple[float | None, ...]]
"""Size, then the value there, the two ends of its interval, and its lower bound."""
SCRIPTS = ("format", "theme", "canvas", "sweep", "ready")


def chart(
    name: str,
    title: str,
    lines: Mapping[str, Sequence[ChartPoint]],
    unit: str = "s",
    *,
    has_band: bool,
) -> Json:
    """Return the data of one chart.

    Args:
        name: name of the section.
        title: title of the vertical axis.
        lines: points by name of the line.
        unit: unit of the values.
        has_band: draw the interval as a band.
    """
    return {
        "id": name,
        "name": title,
        "unit": unit,
        "has_band": has_band,
        "lines": [
            {"name": text(line), "points": [[n, *map(number, values)] for n, values in points]}
            for line, points in lines.items()
        ],
    }
