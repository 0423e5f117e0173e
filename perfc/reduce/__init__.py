"""The smallest sub-model that shows something."""

from __future__ import annotations

from .shrink import Reduced, reduce_error, reduce_to_node

__all__ = ["Reduced", "reduce_error", "reduce_to_node"]
