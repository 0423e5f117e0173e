"""Comparison of machines, runtimes and precisions for the same models."""

from __future__ import annotations

from perfc.study.expenses import Offer, Prices

from .data_form import ComparisonView, to_csv, to_json
from .order import Order, Standing
from .rows import USUAL, Comparison, Row, Setting, compare, compare_models
from .views import document, recommendations

__all__ = [
    "USUAL",
    "Comparison",
    "ComparisonView",
    "Offer",
    "Order",
    "Prices",
    "Row",
    "Setting",
    "Standing",
    "compare",
    "compare_models",
    "document",
    "recommendations",
    "to_csv",
    "to_json",
]
