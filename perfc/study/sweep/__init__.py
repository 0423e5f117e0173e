"""Sweeps of a model over ranges of its symbols: times, regimes and memory."""

from __future__ import annotations

from .results import Capacity, Crossover, Point, Regime, Span, Sweep
from .run import sweep
from .search import largest, merged_spans

__all__ = [
    "Capacity",
    "Crossover",
    "Point",
    "Regime",
    "Span",
    "Sweep",
    "largest",
    "merged_spans",
    "sweep",
]
