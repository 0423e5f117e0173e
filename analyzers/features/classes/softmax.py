"""Kernel class of softmax over the last axis.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np

from perfc.ir import bits_of

from .. import reach
from . import Amounts, Array, Columns
from .rowwise import Rowwise

WARP_COLUMNS = 1024
"""Longest row that stays in the registers of one warp, and is read once."""
VECTOR = 4
"""Elements that a thread loads at once."""


class Softmax(Rowwise):
    """``rows`` of ``cols`` elements; maximum, sum and result are passes of one kernel.

    A row that does not fit into a warp's registers is read three times; the part that is evicted
    from the caches between the passes is memory traffic. Source: PyTorch 2.1, ``SoftMax.cu`` and
    ``PersistentSoftmax.cuh``.
    """

    name = "softmax"
    eager_s = reach.EAGER_CALL_S["softmax"]

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts: elements once, an exponential and two operations per element."""
        n = rows["rows"] * rows["cols"]
        nbytes = n * bits_of(dtype) / 8
        # two vector operations: the sum, and the product with its reciprocal; the maximum and its
        # subtraction are no part of the definition, so that a lower bound leaves them out
        return Amounts(np.zeros_like(n), np.zeros_like(n), 2 * n, n, nbytes, nbytes)

    def threads(self, rows: Columns) -> Array:
        """Return the threads of a block, from a warp of 32 to 512, as ``SoftMax_getBlockSize``.

        It is the least power of two with one thread per eight elements.
        """
        # each thread has two vectors; the logarithm needs at least the 32 of a warp
        log_threads = np.log2(np.maximum(rows["cols"] / VECTOR / 2, 32))
        threads: Array = np.clip(2 ** np.ceil(log_threads), 32, 512)
        return threads

    def again(self, rows: Columns) -> Array:
        """Return 2 for rows that are longer than a warp's registers, which are read three times."""
        return np.where(rows["cols"] <= WARP_COLUMNS, 0.0, 2.0)
