"""Hierarchical roofline charts: ceilings of a machine, kernels as points, one per memory level."""

from __future__ import annotations

from .chart import Chart, chart
from .marks import Basis, Mark, marks_of
from .roofs import Level, Roof, Roofs, Slope, roofs_of

__all__ = [
    "Basis",
    "Chart",
    "Level",
    "Mark",
    "Roof",
    "Roofs",
    "Slope",
    "chart",
    "marks_of",
    "roofs_of",
]
