"""Kernel class of batched products, one per head with its weights.

Latent attention (MLA) has them: it multiplies queries and results of each head by the expansions
of keys and values.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Array, Columns
from .matmul import Matmul


class BatchedMatmul(Matmul):
    """``y[batch, m, n] = x[batch, m, k] · w[batch, k, n]`` with few ``n`` and ``k``.

    Columns are those of ``matmul``. In rows of 8 bits a separate kernel quantises ``x``. With
    ``weight_bits`` of 8 and an element type of 16 bits, weights are widened before the product.

    Source:
        DeepSeek-V2, arXiv:2405.04434, appendix C.
    """

    name = "batched_matmul"
    # columns that the framework decides
    by_framework = ("input_bits", "scale_block", "weight_bits")
    chosen_by = ()  # unlike ``matmul``: the framework decides the width of weights here
    increasing = ()  # unlike ``matmul``, no feature with which time only rises
    categories = ("half", "eight bits")  # of rows, calibrated separately

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features of `Matmul`, and those of operand size and machine."""
        ones = np.ones_like(rows["m"])
        return super().features(rows, dtype, sheet) | {
            "log_elements_x": np.log2(rows["batch"] * rows["m"] * rows["k"]),
            "log_device": np.log2(sheet.device_bytes_per_s) * ones,
            "log_l2": np.log2(max(sheet.l2_bytes, 1.0)) * ones,
            "generation": sheet.generation * ones,
        }

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the estimate of `Matmul`, plus a launch."""
        scale_s = super().scale_s(rows, dtype, sheet, protocol)
        return scale_s + physics.latency_s(protocol, sheet)

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return 0 for weights of 16 bits, 1 for weights or products of 8 bits."""
        is_narrow = (rows["weight_bits"] > 0) | (bits_of(dtype) == 8)
        index: NDArray[np.intp] = is_narrow.astype(np.intp)
        return index
