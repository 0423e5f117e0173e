"""ONNX Runtime operators of token generation: search, states, selection of attended tokens."""

from __future__ import annotations

from .described import described

OPERATORS = described(__file__, __name__)
