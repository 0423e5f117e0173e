"""How the numbers of one node are made, and where each is from."""

from __future__ import annotations

from .explanation import Explanation, explain, filled

__all__ = ["Explanation", "explain", "filled"]
