"""Sweeps of a model over ranges of its symbols: times, regimes and memory."""

from __future__ import annotations

from .results import Crossover, Point, Regime, RegimeSpan, SizeLimit, Sweep
from .run import sweep, sweep_model
from .search import largest, merged_spans

__all__ = [
    "Crossover",
    "Point",
    "Regime",
    "RegimeSpan",
    "SizeLimit",
    "Sweep",
    "largest",
    "merged_spans",
    "sweep",
    "sweep_model",
]
