"""Safetensors files: the config.json in their folder describes the model, they give its types."""

from __future__ import annotations

from .config import lower as lower


def reads(path: str, head: bytes) -> bool:
    """Return True for a file with the suffix."""
    return path.lower().endswith(".safetensors")
