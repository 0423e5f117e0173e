"""ONNX Runtime operators of token generation: search, states, selection of attended tokens.

Each is a row of the TOML file next to this module, in the notation that `described` documents.
"""

from __future__ import annotations

from .described import described

OPERATORS = described(__file__, __name__)
