"""Operators of PyTorch defined only by data: pooled lookups, searches, counts, regions.

Each is a row of the TOML file next to this module, in the notation that `described` documents.
"""

from __future__ import annotations

from ..contrib.described import described

OPERATORS = described(__file__, __name__)
