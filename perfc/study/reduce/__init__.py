"""Reduction of a model to the smallest sub-model with a node or an error."""

from __future__ import annotations

from .shrink import Reduced, reduce_error, reduce_to_node

__all__ = ["Reduced", "reduce_error", "reduce_to_node"]
