"""Safetensors files: the config.json in their folder describes the model, they give its types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfc.ir import Module

    from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a file with the suffix."""
    return path.lower().endswith(".safetensors")


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of the language model."""
    from .config import lower as lower_config

    return lower_config(model, options)
