"""Fit of a run on a device: largest batch, and changes that save memory."""

from __future__ import annotations

from .search import Fit, fitted
from .way import Way

__all__ = ["Fit", "Way", "fitted"]
