"""Launches of a module in its declared types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir.tensors.types import TensorType

from .launches import LaunchWalk

if TYPE_CHECKING:
    from perfc.ir.graph import Value


class Stored(LaunchWalk):
    """Lists the launches of a module in its declared types."""

    def bits(self, v: Value) -> int:
        """Return the declared bits of an element."""
        return v.type.dtype.bits if isinstance(v.type, TensorType) else 0
