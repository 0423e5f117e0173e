"""Hierarchical roofline charts: ceilings of a machine, and each kernel as a point per level."""

from __future__ import annotations

from .chart import Chart, chart
from .marks import Mark, TimeBasis, marks_of
from .roofs import Roof, RoofLevel, Roofs, Slope, roofs_of

__all__ = [
    "Chart",
    "Mark",
    "Roof",
    "RoofLevel",
    "Roofs",
    "Slope",
    "TimeBasis",
    "chart",
    "marks_of",
    "roofs_of",
]
