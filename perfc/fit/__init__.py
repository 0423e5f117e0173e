"""Whether a run fits into a device, how large its batch may be, and what would make more room."""

from __future__ import annotations

from .search import Fit, fitted
from .way import Way

__all__ = ["Fit", "Way", "fitted"]
