"""Machines, runtimes and precisions side by side, for the same models."""

from __future__ import annotations

from .data_form import ComparisonView, to_csv, to_json
from .prices import HourlyPrice, Prices
from .rows import Comparison, Order, Row, Setting, Standing, compare, compare_models
from .views import document

__all__ = [
    "Comparison",
    "ComparisonView",
    "HourlyPrice",
    "Order",
    "Prices",
    "Row",
    "Setting",
    "Standing",
    "compare",
    "compare_models",
    "document",
    "to_csv",
    "to_json",
]
