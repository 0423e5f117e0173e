"""What softmax and normalisation share: blocks that pass over rows several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.types import bits_of

from .. import reach

if TYPE_CHECKING:
    from ..sheet import Sheet
    from . import Array, Columns

HALF_KEPT = 0.35
"""Share of the caches that resident rows may fill until half of them are lost between passes."""
STEEPNESS = 2.0


def pressure(rows: Columns, threads: Array, dtype: str, sheet: Sheet) -> Array:
    """Log of the bytes of all rows that are worked on at once, over what caches keep of them."""
    resident = np.minimum(
        sheet.threads_per_sm / threads, np.maximum(rows["rows"] / sheet.sm_count, 1)
    )
    nbytes = sheet.sm_count * resident * rows["cols"] * bits_of(dtype) / 8
    found: Array = np.log(nbytes / reach.read_cache_bytes(sheet) / HALF_KEPT)
    return found


def passes(
    rows: Columns, once: float, again: Array, threads: Array, dtype: str, sheet: Sheet
) -> Array:
    """How often the tensor passes device memory.

    Args:
        rows: ``rows`` and ``cols``.
        once: passes whatever the caches hold.
        again: further passes where they hold nothing.
        threads: of a block, which works on one row.
        dtype: element type.
        sheet: of the machine.
    """
    lost = 1 / (1 + np.exp(-STEEPNESS * pressure(rows, threads, dtype, sheet)))
    times: Array = once + again * lost
    return times


def features(
    rows: Columns, body: Array, call: float, threads: Array, dtype: str, sheet: Sheet
) -> dict[str, Array]:
    """Body against call, waves of blocks, and how caches are filled; see `passes`."""
    large = body > call / 2
    waves = rows["rows"] / (sheet.sm_count * sheet.threads_per_sm / threads)
    flop_s = rows["rows"] * rows["cols"] / sheet.vector_flop_per_s("f32")
    return {
        "log_body": np.log(body / call),
        "log_cols": np.log2(rows["cols"]),
        "waves": np.clip(np.log2(waves), -4, 4),
        "tail": (np.ceil(waves) / waves - 1) * (large & (waves < 20)),
        "pressure": np.clip(pressure(rows, threads, dtype, sheet), -3, 3) * large,
        "aligned": (rows["cols"] % 4 == 0).astype(float),
        "log_flop": np.log(flop_s / body) * large,
        "iterations": np.ceil(rows["cols"] / 4 / threads),
    }
