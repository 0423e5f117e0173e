"""The report as one HTML file: charts and tables, no network, any model's names are harmless."""

from __future__ import annotations

from .page import page

__all__ = ["page"]
