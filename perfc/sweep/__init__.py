"""A model over ranges of its symbols: where what binds it changes, and what fits."""

from __future__ import annotations

from .run import Capacity, Crossover, Point, Regime, Span, Sweep, largest, merged_spans, sweep

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
