"""Element types whose rates stand in for those of types that a unit does not have."""

from __future__ import annotations

from perfc.common.fitted import data_next_to

_TYPES = data_next_to(__file__)
SAME_MATRIX: dict[str, str] = _TYPES["same"]
"""Types that matrix units treat as another of the same width."""
MATRIX_CHAIN: dict[str, list[str]] = _TYPES["matrix"]
"""Types whose matrix rates may do products of a type: its own first, then what holds its values."""
VECTOR_CHAIN: dict[str, list[tuple[str, int]]] = _TYPES["vector"]
"""Types whose vector rates may do operations of a type, and how many fit into one lane of it."""
