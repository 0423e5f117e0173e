"""Explanation of the numbers of one node, with the origin of each."""

from __future__ import annotations

from .explanation import Explanation, explain, filled

__all__ = ["Explanation", "explain", "filled"]
