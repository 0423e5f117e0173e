"""Element types whose rates stand in for those of types that a unit does not have."""

from __future__ import annotations

from perfc.common.fitted import data_next_to

_TYPES = data_next_to(__file__)
SAME_MATRIX: dict[str, str] = _TYPES["same"]
"""Types that matrix units treat as another type of the same width."""
MATRIX_CHAIN: dict[str, list[str]] = _TYPES["matrix"]
"""Types in whose matrix rates products of a type can be computed: itself, then those that have all
of its values."""
VECTOR_CHAIN: dict[str, list[tuple[str, int]]] = _TYPES["vector"]
"""Types in whose vector rates a type can be computed, with the number of elements in one lane."""
