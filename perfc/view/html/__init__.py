"""Self-contained HTML reports: charts and tables, without network access, with escaped names."""

from __future__ import annotations

from .comparison import ComparedSide, ComparisonContent, Pair, comparison_of
from .page import comparison_page, page

__all__ = ["ComparedSide", "ComparisonContent", "Pair", "comparison_of", "comparison_page", "page"]
