"""Comparison of machines, runtimes and precisions for the same models."""

from __future__ import annotations

from perfc.deployment.prices import Offer, Prices

from .order import LimitStatus, Order
from .rows import USUAL, Comparison, ModelSetting, Row, compare, compare_models
from .views import document, recommendations

__all__ = [
    "USUAL",
    "Comparison",
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
]
