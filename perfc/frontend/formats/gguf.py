"""GGUF files: their metadata are a configuration, their tensors its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfc.ir import Module

    from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a file that begins as GGUF or has its suffix."""
    return head.startswith(b"GGUF") or path.lower().endswith(".gguf")


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of the language model, with weights as the file has them."""
    from .config import lower as lower_config

    return lower_config(model, options)
