"""The report as one HTML file: charts and tables, no network, any model's names are harmless."""

from __future__ import annotations

from .comparison import Comparison, Pair, Side, comparison_of
from .page import comparison_page, page

__all__ = ["Comparison", "Pair", "Side", "comparison_of", "comparison_page", "page"]
