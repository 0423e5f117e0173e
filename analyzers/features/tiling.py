"""Estimate matrix products by tiles: waves of thread blocks, staging through L2, and latency.

Every block of threads computes one tile of the result for one part of the reduction; blocks run
in waves, one block per multiprocessor. The time of a wave is the longest of three: its products,
its operands through L2, and the sequential steps of its reduction. Tile and split of the reduction
are the fastest ones. At the same time, bytes that no cache holds pass device memory.

Source: tiles, waves and quantisation as in NVIDIA, "Matrix Multiplication Background User's
Guide" (DU-09799-001), sections 3–5; splitting the reduction as in Osama et al., "Stream-K",
PPoPP 2023. Leaves out: the library's choice of kernels, clocks under load, and the order in which
blocks run (swizzle).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import entity

if TYPE_CHECKING:
    from .classes import Array
    from .sheet import Sheet

TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128), (256, 256))
"""Rows and columns of the tiles that libraries have, in ascending order."""
SPLITS = (1, 2, 4, 8, 16)
"""Numbers of blocks among which a reduction may be divided."""
STEP = 64
"""Elements of the reduction whose operands a block loads at a time."""
_FITTED = constants_next_to(__file__)
_CLOCKS, _SHARES = _FITTED["tiling_clocks"].by_name, _FITTED["tiling_shares"].by_name
_EXPONENTS = _FITTED["tiling_exponents"].by_name
LATENCY_S, LATENCY_CLOCKS = _FITTED["tiling_latency_s"].number, _CLOCKS["start"]
"""Start of a product in a recorded graph: a fixed time plus clock cycles."""
SERIAL_CLOCKS = _CLOCKS["serial"]
"""Clock cycles per element of the reduction: each step waits for its operands."""
SPLIT_CLOCKS = _CLOCKS["split"]
"""Clock cycles to add the partial sums of a split reduction, by another kernel or a semaphore."""
MATRIX_SHARE, DEVICE_SHARE, L2_SHARE = _SHARES["matrix"], _SHARES["device"], _SHARES["l2"]
"""Sustained over rated rates of matrix units, device memory and L2."""
POWER_EXPONENT, WIDTH_EXPONENT = _EXPONENTS["power"], _EXPONENTS["width"]
"""Exponents by which sustained shares fall: of matrix units with rated products per joule, and of
device memory with its bytes per clock and multiprocessor."""
SMALL_TILE_EXPONENT = _EXPONENTS["small_tile"]
"""Exponent by which the rate of tiles smaller than 128 by 128 grows with their area."""
ROTATED = 8.0
"""Number of copies of the weights that a benchmark uses in turn, so that caches do not hold them
from one call to the next."""
HEIGHT, WIDTH = np.array(TILES, float).T[:, :, None, None]
"""Rows and columns of tiles, broadcast as ``[tiles, splits, products]``."""
GAIN = np.minimum(1.0, (HEIGHT * WIDTH / 16384) ** SMALL_TILE_EXPONENT)
"""Share of the rate that tiles reach; the full rate from an area of 128 · 128 = 16384."""
OVERLAP = _EXPONENTS["overlap"]
"""Order of the norm that joins traffic and products: with 1 it is their sum, with a large order the
longer of both."""


@entity
class TiledProduct:
    """Matrix products with their operands in bytes.

    Args:
        m: rows of each result.
        n: columns of each result.
        k: extent of the reduction.
        batch: number of independent products.
        x_bytes: bytes of all left operands.
        w_bytes: bytes of all right operands.
        y_bytes: bytes of all results.
        x_bits: bits of an element of the left operand as blocks load it.
        w_bits: bits of an element of the right operand as blocks load it.
    """

    m: Array
    n: Array
    k: Array
    batch: Array
    x_bytes: Array
    w_bytes: Array
    y_bytes: Array
    x_bits: Array
    w_bits: Array


@entity
class Tiling:
    """Times of the parts of products; ``total_s`` joins them.

    Args:
        latency_s: time of the start of the kernel.
        device_s: time of the traffic of device memory.
        tile_s: time of the waves of the fastest tile.
    """

    latency_s: float
    device_s: Array
    tile_s: Array

    @property
    def total_s(self) -> Array:
        """Return the latency plus the norm of traffic and products, which overlap."""
        joined: Array = self.device_s**OVERLAP + self.tile_s**OVERLAP
        return self.latency_s + joined ** (1 / OVERLAP)


def estimate(product: TiledProduct, flop_per_s: float, sheet: Sheet) -> Tiling:
    """Estimate the time of matrix products from waves of tiles.

    Args:
        product: extents and bytes of the products.
        flop_per_s: rate of the unit that multiplies.
        sheet: sheet of the machine.
    """
    latency_s = LATENCY_S + LATENCY_CLOCKS / sheet.clock_hz
    return Tiling(latency_s, _device_s(product, sheet), tile_s(product, flop_per_s, sheet))


def _device_s(product: TiledProduct, sheet: Sheet) -> Array:
    """Return the time of bytes that L2 does not keep from one call to the next."""
    l2 = max(sheet.l2_bytes, 1.0)

    def missing(share: Array) -> Array:
        """Return the part of tensors that misses L2, from their size over its capacity.

        It is 0 up to 0.8 of the capacity and 1 from 1.3 times the capacity; it grows linearly
        between them, over 0.5.
        """
        result: Array = 1 - np.clip((1.3 - share) / 0.5, 0, 1)
        return result

    others = product.x_bytes + product.y_bytes
    # each call uses another copy of the weights; other tensors are the same in each call
    nbytes = product.w_bytes * missing(ROTATED * product.w_bytes / l2)
    nbytes = nbytes + others * missing((others + product.w_bytes) / l2)
    # the more bytes per clock and multiprocessor, the lower the share of the rate that memory
    # sustains: 4 bytes have DEVICE_SHARE; the share stays in a plausible range
    width = sheet.device_bytes_per_s / sheet.clock_hz / sheet.sm_count / 4
    share = min(max(DEVICE_SHARE * width**-WIDTH_EXPONENT, 0.3), 0.98)
    time_s: Array = nbytes / (share * sheet.device_bytes_per_s)
    return time_s


def tile_s(
    product: TiledProduct, flop_per_s: Array | float, sheet: Sheet, splits: Sequence[int] = SPLITS
) -> Array:
    """Return the time of the fastest tile and split of the reduction, ``[products]``."""
    m, n, k, batch = product.m, product.n, product.k, product.batch
    sm, clock, l2 = sheet.sm_count, sheet.clock_hz, L2_SHARE * sheet.l2_bytes_per_s
    # rated operations per joule over 0.8 Tflop/J, at which boards sustain MATRIX_SHARE: boards with
    # little power for their rate sustain less; the share stays in a plausible range
    power = (sheet.matrix_flop_per_s("bf16") / max(sheet.power_w, 1.0)) / 0.8e12
    rate = flop_per_s * min(max(MATRIX_SHARE * power**-POWER_EXPONENT, 0.3), 0.97)
    # time of one set of f32 partial sums through L2; a reduction in n parts passes n + 1 sets
    partial_s = batch * m * n * 4 / l2
    split = np.array(splits)[:, None]
    # every block works on whole tiles and whole steps, however few elements are left
    depth = np.ceil(k / split / STEP) * STEP
    tiles = batch * np.ceil(m / HEIGHT) * np.ceil(n / WIDTH)
    staged = (HEIGHT * product.x_bits + WIDTH * product.w_bits) / 8
    waves = np.ceil(tiles * split / sm)
    products_s = waves * depth * (sm * 2 * HEIGHT * WIDTH / rate / GAIN)
    staging_s = tiles * split * depth * staged / l2
    serial_s = waves * depth * (SERIAL_CLOCKS / clock)
    # products, loads and steps overlap in a pipeline: the longest determines the time
    time_s = np.maximum(np.maximum(products_s, staging_s), serial_s)
    gathered_s = time_s + SPLIT_CLOCKS / clock + (split + 1) * partial_s
    best: Array = np.where(split > 1, gathered_s, time_s).min(axis=(0, 1))
    return best
