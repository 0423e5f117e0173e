"""Physical estimate of FP32 products on the lanes of a GPU, without TF32.

A product is cut into tiles, one per block of threads; blocks run in waves, one per multiprocessor.
A wave takes the time of its products, at the rate that shared memory and the board's power limit
allow, plus the time of the start and end of a block.

Tiles are those of the kernels named in NeuSight's tables, by generation; the time of a product is
that of the fastest tile. Source of waves and tiles: NVIDIA, "Matrix Multiplication Background
User's Guide" (DU-09799-001), sections 3 and 4. Leaves out: how the library chooses among its tiles,
traffic between levels of cache, and the temperature of the board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import record

if TYPE_CHECKING:
    from .classes import Array
    from .sheet import Sheet

ITEM = 4
"""Bytes of an f32 element."""
VOLTA, AMPERE = 7.0, 8.0
"""Compute capabilities of generations with which the tiles of the libraries changed."""
BANKS = 32
"""Words that shared memory delivers per clock, on every generation."""
MOST_LANES = 128
"""Maximum number of lanes of a multiprocessor that load operands. A peak rate of matrix cores
corresponds to more lanes, but operands are loaded no faster."""
SHARED_MEMORY_ORDER = 3
"""Order of the norm that combines the time of multiply-adds with the time of their loads."""
_FITTED = constants_next_to(__file__)
_CROSSED, _CACHED = _FITTED["crossed_reads"].by_name, _FITTED["cached_operands"].by_name
ENERGY_PER_FLOP_J, REFERENCE_NODE_M = _FITTED["energy_per_flop_j"].number, 12e-9
"""Energy that the whole board takes for an FP32 operation of a product, and the process node at
which it takes this energy."""
NODE_EXPONENT = _FITTED["node_exponent"].number
"""Exponent of that energy over the process node: the energy is less on smaller nodes."""
OTHERS_SHARE = _FITTED["others_share"].number
"""Share of the peak rate that libraries of vendors other than NVIDIA reach."""
BLOCK_S = _FITTED["block_s"].number
"""Seconds that a block of 256 threads needs to start, fill its buffers and write its tile."""
WARP_THREADS, BUSY_WARPS = 32, 6
"""Threads of a warp, and warps of a multiprocessor that keep its lanes busy."""
DEPTH = 8
"""Elements of the reduction that kernels copy to shared memory at a time."""
FAR_ROW, FAR_ROWS = _FITTED["far_rows"].numbers
"""Length and number of stored rows from which tiles that read across them slow down, on GPUs before
Volta."""
CROSSED_SHARE, CROSSED_ROW = _CROSSED["share"], _CROSSED["row"]
CROSSED_POWER, MOST_CROSSED = _CROSSED["exponent"], _CROSSED["most"]
"""Share of the rated bandwidth that reads across stored rows reach before Volta, the row length of
that share, the exponent by which it falls with the length, and its maximum."""
HELD_SHARE, STRIPE_SHARE = _CACHED["operand"], _CACHED["stripe"]
"""Shares of the last cache: for an operand that stays in it, and for the stripe a wave shares."""


@record
class LibraryTile:
    """One kernel of a library.

    Args:
        rows: number of rows of the result that a block computes.
        columns: number of columns of that result.
        threads: number of threads of a block.
        words: words of shared memory that a thread loads per multiply–add, such as 16 for 64 where
            it computes 8 by 8 elements of the result.
        share: share of the rate that the kernel reaches, on top of the limit of shared memory.
    """

    rows: int
    columns: int
    threads: int
    words: float
    share: float = 1.0


# rows, columns, threads, words per multiply–add, share of the rate if it is not 1
WIDE, TALL = LibraryTile(64, 128, 128, 0.25), LibraryTile(128, 64, 128, 0.25)
LARGE, SMALL = LibraryTile(128, 128, 256, 0.25), LibraryTile(64, 64, 64, 0.25, 0.85)
THIN, FLAT = LibraryTile(128, 32, 256, 0.5), LibraryTile(32, 128, 256, 0.5)
ALL = (
    LARGE,
    WIDE,
    TALL,
    SMALL,
    THIN,
    FLAT,
    LibraryTile(32, 64, 256, 0.75),
    LibraryTile(32, 32, 128, 0.5),
)


def batched_tiles(sheet: Sheet) -> tuple[LibraryTile, ...]:
    """Return the tiles of batched products by generation; all tiles for those not measured."""
    if 0 < sheet.generation < VOLTA:
        return (WIDE,)
    if VOLTA <= sheet.generation < AMPERE:
        return (SMALL, WIDE, THIN, FLAT)
    return (LARGE,) if sheet.generation == AMPERE else ALL


def single_tiles(sheet: Sheet) -> tuple[LibraryTile, ...]:
    """Return the tiles of products that are not batched."""
    return (THIN, SMALL, LARGE) if 0 < sheet.generation < VOLTA else ALL


def power_share(sheet: Sheet) -> float:
    """Return the share of the boost clock at which a board stays within its power limit.

    It is at least the share of the base clock.

    An operation takes 17 pJ at 12 nm and above (16 nm is nearly the same process), and less on
    smaller nodes, by the fourth root of their ratio.
    """
    # at most 1: larger nodes count as the reference
    node = min(sheet.process_node_m, REFERENCE_NODE_M) / REFERENCE_NODE_M
    flop_per_s = sheet.power_w / (ENERGY_PER_FLOP_J * node**NODE_EXPONENT)
    limited = flop_per_s / peak_flop_per_s(sheet) if flop_per_s else 1.0
    return float(min(max(limited, sheet.base_clock_share), 1.0))


def lane_share(sheet: Sheet, words: float) -> float:
    """Return the share of the peak rate that loads from shared memory allow.

    Args:
        sheet: sheet of the machine.
        words: words that are loaded per multiply–add.
    """
    lanes = peak_flop_per_s(sheet) / (2 * sheet.sm_count * sheet.clock_hz)
    load = min(lanes, MOST_LANES) * words / BANKS
    share: float = (1 + load**SHARED_MEMORY_ORDER) ** (-1 / SHARED_MEMORY_ORDER)
    if sheet.generation:
        return share
    # other vendors: large products, which have the largest tile, reach their measured share
    of_large: float = (1 + (MOST_LANES * LARGE.words / BANKS) ** 3) ** (-1 / 3)
    return OTHERS_SHARE * share / of_large


def peak_flop_per_s(sheet: Sheet) -> float:
    """Return the FP32 peak rate of the data sheet, without TF32."""
    return sheet.matrix_flop_per_s("f32", tf32=False)


def compute_s(m: Array, n: Array, k: Array, batch: Array, stored: Array, sheet: Sheet) -> Array:
    """Return the time of whole waves of the fastest tile.

    Args:
        m: rows of each result.
        n: columns of each result.
        k: extent of the reduction.
        batch: number of independent products.
        stored: 1 if the right operand is stored by columns.
        sheet: sheet of the machine.
    """
    single_s = tiled_s(m, n, k, batch, single_tiles(sheet), sheet)
    batched_s = tiled_s(m, n, k, batch, batched_tiles(sheet), sheet)
    time_s: Array = np.where(batch > 1, batched_s, single_s)
    if 0 < sheet.generation < VOLTA:
        # tiles that read across stored rows slow down with the length of the rows, from half an
        # octave below FAR_ROW to two octaves above it, by half of their time per octave; few rows
        # slow them down less
        octaves = np.clip(np.log2(k / FAR_ROW) + 0.5, 0, 2.5)
        rows = np.minimum(m / FAR_ROWS, 1.0) ** 0.25
        time_s = time_s * np.where(stored > 0, 1 + 0.5 * octaves * rows, 1.0)
    return time_s


def again_s(m: Array, n: Array, k: Array, sheet: Sheet) -> Array:
    """Return the time of repeated reads of operands, both of which are stored along the reduction.

    Only GPUs before Volta need this time; it is 0 for others.

    A block copies a few elements of each of its rows at a time, so that every read is one sector of
    another page of memory. Blocks of a wave are adjacent along the columns. The right operand is
    read again for every row of tiles unless the last cache holds it. The left operand is read again
    for every wave unless the cache holds the stripe of rows that the blocks of a wave share. The
    time is that of the tile with the fewest bytes.
    """
    if not 0 < sheet.generation < VOLTA:
        return np.zeros(m.shape)
    least = np.full(m.shape, np.inf)
    for tile in single_tiles(sheet):
        down, across = np.ceil(m / tile.rows), np.ceil(n / tile.columns)
        right = np.maximum(down / np.maximum(sheet.sm_count / across, 1) - 1, 0)
        left = np.maximum(across / sheet.sm_count - 1, 0)
        held = ITEM * n * k < HELD_SHARE * sheet.l2_bytes
        shared = ITEM * k * np.minimum(m, tile.rows) < STRIPE_SHARE * sheet.l2_bytes
        read = np.where(held, 0, right * n * k) + np.where(shared, 0, left * m * k)
        least = np.minimum(least, ITEM * read)
    share = np.minimum(CROSSED_SHARE * (CROSSED_ROW / k) ** CROSSED_POWER, MOST_CROSSED)
    time_s: Array = least / (share * sheet.device_bytes_per_s)
    return time_s


def tiled_s(
    m: Array, n: Array, k: Array, batch: Array, tiles: tuple[LibraryTile, ...], sheet: Sheet
) -> Array:
    """Return the time of whole waves of the fastest of some tiles."""
    peak, powered = peak_flop_per_s(sheet), power_share(sheet)
    # whole tiles and whole steps of the reduction are computed
    depth = np.ceil(k / DEPTH) * DEPTH
    best = np.full(m.shape, np.inf)
    for tile in tiles:
        waves = np.ceil(batch * np.ceil(m / tile.rows) * np.ceil(n / tile.columns) / sheet.sm_count)
        warps = waves * (tile.threads / WARP_THREADS)
        # few warps cannot hide latency: time grows by a smooth maximum of 1 and wanted over
        # resident warps
        idle = (1 + (BUSY_WARPS / warps) ** 3) ** (1 / 3)
        rate = peak * min(lane_share(sheet, tile.words) * tile.share, powered)
        flop = 2 * sheet.sm_count * tile.rows * tile.columns * depth
        # fewer threads than the 256 of `BLOCK_S` start sooner, by the square root of their ratio
        start_s = BLOCK_S * (tile.threads / 256) ** 0.5
        best = np.minimum(best, waves * (flop / rate * idle + start_s))
    return best
