"""TensorFlow Lite models."""

from __future__ import annotations

from perfc.ir import Module

from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a FlatBuffer of TensorFlow Lite; old files have no mark."""
    # the identifier of a FlatBuffer stands behind the offset of its root
    return head[4:8] == b"TFL3" or (bool(head) and path.lower().endswith(".tflite"))


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a TensorFlow Lite model."""
    from ..lowering import lowered
    from ..tflite.program import read_flat

    return lowered(read_flat(model), options)
