"""TensorFlow SavedModels and frozen graphs, Keras and Paddle models, through a converter."""

from __future__ import annotations

from perfc.ir import Module

from ..conversion.convertible import source_of as source_of
from . import ReadOptions, head_of


def reads(path: str, head: bytes) -> bool:
    """Return True for a model that a converter reads."""
    return source_of(path, head) is not None


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a converted model."""
    from ..conversion.reader import read_converted
    from ..lowering import lowered

    assert isinstance(model, str)
    source = source_of(model, head_of(model))
    assert source is not None
    return lowered(read_converted(model, source), options)
