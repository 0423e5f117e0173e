"""HTML page of two analyses."""

from __future__ import annotations

from .comparison import ComparedSide, ComparisonContent, Pair, comparison_of, comparison_page

__all__ = ["ComparedSide", "ComparisonContent", "Pair", "comparison_of", "comparison_page"]
