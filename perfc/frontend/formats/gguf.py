"""GGUF files: their metadata are a configuration, their tensors its weights."""

from __future__ import annotations

from .config import lower as lower


def reads(path: str, head: bytes) -> bool:
    """Return True for a file that begins as GGUF or has its suffix."""
    return head.startswith(b"GGUF") or path.lower().endswith(".gguf")
