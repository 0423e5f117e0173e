"""Kernel class of layer normalisation and its variants: statistics per row, then their use.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np

from perfc.ir import bits_of

from .. import reach
from . import Amounts, Array, Columns
from .rowwise import Rowwise

THREADS = 128.0
"""Threads of a block: ``kNumThreads`` of PyTorch's vectorized layer norm."""


class Normalization(Rowwise):
    """``rows`` of ``cols`` elements, normalised along the row, scaled and shifted.

    Blocks of 128 threads read their row twice and write it; rows that are evicted from the caches
    between the passes are read from memory again. Source: PyTorch 2.1, ``layer_norm_kernel.cu``.
    """

    name = "normalization"
    eager_s = reach.EAGER_CALL_S["normalization"]

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts that all variants need: bytes once, two operations per element.

        The operations are those of the normalised result. Sums for the statistics, scale and shift
        are left out, as some variants have none of them.
        """
        n = rows["rows"] * rows["cols"]
        nbytes = n * bits_of(dtype) / 8
        nothing = np.zeros_like(n)
        # no multiply-accumulates and no floor of them, then vector operations, no transcendental
        # functions, and the bytes read and written
        return Amounts(nothing, nothing, 2 * n, nothing, nbytes, nbytes)

    def threads(self, rows: Columns) -> Array:
        """Return the threads of a block, the same for every row."""
        return np.full_like(rows["cols"], THREADS)

    def again(self, rows: Columns) -> Array:
        """Return 1: blocks read their row a second time, to use the statistics."""
        return np.ones_like(rows["cols"])
