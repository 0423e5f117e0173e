"""ONNX Runtime operators defined only by data: products, normalizations, packed weights."""

from __future__ import annotations

from .described import described

OPERATORS = described(__file__, __name__)
