"""Relax modules of TVM: the JSON of ``tvm.ir.save_json``."""

from __future__ import annotations

from perfc.ir import Module

from ..reading.magic import is_relax
from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a JSON document that begins as TVM's."""
    return is_relax(head)


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a Relax module."""
    from ..lowering import lowered
    from ..relax.program import read_relax

    return lowered(read_relax(model), options)
