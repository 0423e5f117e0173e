"""Self-contained HTML reports: charts and tables, without network access, with escaped names."""

from __future__ import annotations

from .page import page

__all__ = ["page"]
