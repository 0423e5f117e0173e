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

    What is not given is any; a column that a block lacks is 0.
    """

    def mask(rows: Rows) -> NDArray[np.bool_]:
        of_block = (
            (not targets or rows.target in targets)
            and dtype in ("", rows.dtype)
            and protocol in (None, rows.protocol)
        )
        # machine, type and protocol are of a whole block, columns of single rows
        result: NDArray[np.bool_] = everything(rows) & of_block
        for name, value in columns.items():
            result &= rows.columns.get(name, np.zeros(len(rows))) == value
        return result

    return mask


def positive(name: str, default: float = 0) -> RowMask:
    """Return the mask of rows with a positive number in a column; a block may lack it."""
    return lambda rows: everything(rows) & (rows.columns.get(name, default) > 0)


def both(*masks: RowMask) -> RowMask:
    """Return the mask of rows that every mask selects."""
    return lambda rows: np.logical_and.reduce([mask(rows) for mask in masks])


def without(mask: RowMask) -> RowMask:
    """Return the mask of the other rows."""
    return lambda rows: ~mask(rows)


def of_eight_bits(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of weights of 8 bits, which a class of 16 bits names in a column."""
    return everything(rows) & (rows.dtype == "f8e4m3" or "weight_bits" in rows.columns)


def of_20_us(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of rows of which the older table's unit, 1 µs, is less than a twentieth."""
    result: NDArray[np.bool_] = rows.time_s >= 20e-6
    return result


def of_short_heads(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of latent attention over expanded keys.

    Heads over latents are 576 long: 512 latent and 64 rotated elements.
    """
    result: NDArray[np.bool_] = rows.columns["head_dim"] < 576
    return result


def without_goals(slices: Sequence[RowSlice]) -> tuple[RowSlice, ...]:
    """Return slices that have no goal, as those of machines left out."""
    return tuple(replace(part, goal=None) for part in slices)


REPLAYED, EAGER = where(protocol=Protocol.GRAPH), where(protocol=Protocol.EAGER)
"""Rows of recorded graphs, in which the host is not seen; one call of a framework."""
CAUSAL = positive("causal", default=1)
"""Prompts of decoders, in contrast to encoders."""
# replayed rows in bf16
BF16 = where(protocol=Protocol.GRAPH, dtype="bf16")
OF_INTEL = where("arc-pro-b60")
"""The one machine of another maker."""
OF_NVIDIA = both(REPLAYED, without(OF_INTEL))
