"""Launches of a module in its declared types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from perfc.ir import Env, Module, Numbers, TensorType, Value
from perfc.passes.inference.strides import strides_of

from .columns import Columns
from .columns import columns as columns_of
from .launches import Launch, LaunchWalk

if TYPE_CHECKING:
    from perfc.passes.fusion.fuse import KernelTable


class Stored(LaunchWalk):
    """Lists the launches of a module in its declared types."""

    def bits(self, v: Value) -> int:
        """Return the declared bits of an element."""
        return v.type.dtype.bits if isinstance(v.type, TensorType) else 0


def columns_at(table: KernelTable, module: Module, env: Env, at: Sequence[int]) -> Columns:
    """Return extents and traits of some kernels' launches, whatever the machine.

    Args:
        table: the kernels.
        module: module of the kernels.
        env: values of the symbols.
        at: indices of distinct kernels.
    """
    strides = table.once("strides", {}, partial(strides_of, module, table))
    known: dict[int, Launch] = table.once("launches", env, dict)
    missing = [i for i in at if i not in known]
    if missing:
        listing = Stored(table, None, strides, False, [Numbers(env)])
        # equal kernels are one already: no signature finds another
        known.update({i: replace(listing.counted(table.kernels[i]), kernel=i) for i in missing})
    return columns_of([known[i] for i in at])
