"""The text form of the performance IR."""

from __future__ import annotations

from perfc.ir import Module

from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a name that ends in ``.pir``."""
    return path.endswith(".pir")


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a file in the text form."""
    from perfc.ir.graphs.rewrite import with_defaults
    from perfc.ir.syntax.parse import read

    assert isinstance(model, str)
    return with_defaults(read(model).module, options.dims)
