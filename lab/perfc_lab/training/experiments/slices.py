"""Masks of the rows that the slices of experiments select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from perfc.analyzers.features.rows import Protocol

from ...data.rows import Rows
from ..evaluate import RowSlice, everything

if TYPE_CHECKING:
    from numpy.typing import NDArray

# function of a block that selects rows
RowMask: TypeAlias = "Callable[[Rows], NDArray[np.bool_]]"


def where(
    *targets: str, dtype: str = "", protocol: Protocol | None = None, **columns: float
) -> RowMask:
    """Return the mask of rows with these machines, element type, protocol and column values.

    A condition that is not given selects every row; a column that a block lacks is 0.
    """

    def mask(rows: Rows) -> NDArray[np.bool_]:
        of_block = (
            (not targets or rows.target in targets)
            and dtype in ("", rows.dtype)
            and protocol in (None, rows.protocol)
        )
        # all rows of a block have one machine, type and protocol, but other numbers in columns
        result: NDArray[np.bool_] = everything(rows) & of_block
        for name, value in columns.items():
            result &= rows.columns.get(name, np.zeros(len(rows))) == value
        return result

    return mask


def positive(name: str, default: float = 0) -> RowMask:
    """Return the mask of rows with a positive number in a column; ``default`` if it is missing."""
    return lambda rows: everything(rows) & (rows.columns.get(name, default) > 0)


def both(*masks: RowMask) -> RowMask:
    """Return the mask of rows that every mask selects."""
    return lambda rows: np.logical_and.reduce([mask(rows) for mask in masks])


def without(mask: RowMask) -> RowMask:
    """Return the mask of the rows that ``mask`` does not select."""
    return lambda rows: ~mask(rows)


def of_eight_bits(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of weights of 8 bits: in products of f8, or by a column of other types."""
    return everything(rows) & (rows.dtype == "f8e4m3" or "weight_bits" in rows.columns)


def of_20_us(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of rows of at least 20 µs.

    The older table has times in whole µs, which is 5 % of such a row at most.
    """
    result: NDArray[np.bool_] = rows.time_s >= 20e-6
    return result


def of_short_heads(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of latent attention over expanded keys.

    Heads over latents are 576 long: 512 latent and 64 rotated elements.
    """
    result: NDArray[np.bool_] = rows.columns["head_dim"] < 576
    return result


def without_goals(slices: Sequence[RowSlice]) -> tuple[RowSlice, ...]:
    """Return the slices with no goal, as for splits that leave machines out."""
    return tuple(replace(part, goal=None) for part in slices)


REPLAYED, EAGER = where(protocol=Protocol.GRAPH), where(protocol=Protocol.EAGER)
"""Rows of recorded graphs, whose time has no host in it, and of single calls of a framework."""
CAUSAL = positive("causal", default=1)
"""Prompts of decoders, in contrast to encoders; without the column all rows are of decoders."""
BF16 = where(protocol=Protocol.GRAPH, dtype="bf16")
"""Replayed rows in bf16."""
OF_INTEL = where("arc-pro-b60")
"""Rows of the one machine that is not NVIDIA's."""
OF_NVIDIA = both(REPLAYED, without(OF_INTEL))
"""Replayed rows of NVIDIA's machines; single calls, whose time has the host in it, are left out."""
