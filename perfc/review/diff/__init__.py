"""Structural comparison of two models: changes, their costs, and the edits that explain them."""

from __future__ import annotations

from .difference import Difference, compare
from .figures import Figure, Metric, figures
from .sections import document, to_csv, to_json
from .sides import SideSetting, both
from .views import DiffViews, collect

views_of = collect

__all__ = [
    "DiffViews",
    "Difference",
    "Figure",
    "Metric",
    "SideSetting",
    "both",
    "compare",
    "document",
    "figures",
    "to_csv",
    "to_json",
    "views_of",
]
