"""Comparison of machines, runtimes and precisions for the same models."""

from __future__ import annotations

from perfc.deployment.prices import Offer, Prices

from .data_form import ComparisonView, to_csv, to_json
from .order import LimitStatus, Order
from .rows import USUAL, Comparison, ModelSetting, Row, compare, compare_models
from .views import document, recommendations

__all__ = [
    "USUAL",
    "Comparison",
    "ComparisonView",
    "LimitStatus",
    "ModelSetting",
    "Offer",
    "Order",
    "Prices",
    "Row",
    "compare",
    "compare_models",
    "document",
    "recommendations",
    "to_csv",
    "to_json",
]
