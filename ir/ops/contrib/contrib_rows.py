"""ONNX Runtime operators defined only by data: products, normalizations, packed weights.

Each is a row of the TOML file next to this module, in the notation that `described` documents.
"""

from __future__ import annotations

from .described import described

OPERATORS = described(__file__, __name__)
