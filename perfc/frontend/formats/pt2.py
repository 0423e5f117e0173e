"""Archives of ``torch.export.save``; other zip archives are errors that name their type."""

from __future__ import annotations

from perfc.ir import Module

from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a zip archive."""
    # magic numbers of a zip archive with and without entries
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of an exported program."""
    from ..lowering import lowered
    from ..pt2.program import read_program

    return lowered(read_program(model, options.root), options)
