"""ONNX: binary, text and gzip; the default format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfc.ir import Module

    from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for any model."""
    return True


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of an ONNX model."""
    from ..lowering import lowered
    from ..reading.recent import module_of

    return module_of(model, options, lowered)
