"""StableHLO programs of JAX: text or bytecode of MLIR, and bytes of ``jax.export``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfc.ir import Module

from . import ReadOptions

SUFFIXES = (".mlir", ".mlirbc", ".stablehlo", ".jax")
"""Suffixes of programs; neither text nor the bytes of ``jax.export`` have a magic number."""


def reads(path: str, head: bytes) -> bool:
    """Return True for bytecode of MLIR, or by its suffix."""
    # a program given as bytes has no path: its reader needs a file
    is_bytecode = bool(path) and head.startswith(b"ML\xefR")
    return is_bytecode or (bool(head) and path.lower().endswith(SUFFIXES))


def lower_functions(functions: Mapping[str, Any], name: str) -> Module:
    """Return the module of a function of JAX, from its operations in another process.

    Raises:
        ModelError: they are no program of StableHLO.
    """
    from ..lowering import lowered
    from ..stablehlo.program import message_of

    return lowered(message_of(functions, name), ReadOptions())


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a program."""
    from ..lowering import lowered
    from ..stablehlo.program import read_stablehlo

    assert isinstance(model, str)
    return lowered(read_stablehlo(model), options)
