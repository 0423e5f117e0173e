"""Kernel class of memory-bound token kernels of serving frameworks: norms, activations, rotary.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass
from .attention import memory_s


class TokenOperation(IntEnum):
    """Operations on a token, as the column ``operation`` numbers them."""

    POINTWISE = 0
    """Sums with a residual, conversions, and all operations that are none of the others."""
    NORMALIZATION = 1
    """Normalisation by statistics of a token, with a sum of a residual or quantisation fused."""
    ACTIVATION = 2
    """Activation functions, gated or not."""
    ROTATION = 3
    """Rotation of queries and keys by their position, in place."""
    LOOKUP = 4
    """Look-up of a token's row in a table."""


class Tokenwise(KernelClass):
    """``tokens`` whose bytes are read and written once; ``operation`` is a `TokenOperation`.

    Kernels are memory-bound, so that arithmetic does not count: a fused kernel differs in its bytes
    (a norm that quantises writes fewer).

    Source: ``layernorm_kernels.cu``, ``activation_kernels.cu`` and ``pos_encoding_kernels.cu`` of
    vLLM, one block of threads per token.
    """

    name = "tokenwise"
    parameters = ("tokens", "read_bytes", "write_bytes")
    optional = {"operation": 0}

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts, which are bytes only."""
        nothing = np.zeros_like(rows["tokens"])
        return Amounts(nothing, nothing, nothing, nothing, rows["read_bytes"], rows["write_bytes"])

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of traffic over L2 and of blocks on multiprocessors.

        The bytes of a token are no feature: they have few values, by which a forest would recognize
        models.
        """
        log = np.log2
        nbytes = rows["read_bytes"] + rows["write_bytes"]
        waves = rows["tokens"] / sheet.sm_count
        ones = np.ones_like(nbytes)
        # clipped where nothing changes any more: L2 holds everything or nothing, and the machine is
        # almost empty or has so many waves that the last one is negligible
        features = {
            "log_device_s": log(nbytes / sheet.device_bytes_per_s),
            "log_over_l2": np.clip(log(nbytes / max(sheet.l2_bytes, 1.0)), -6, 6),
            "written": rows["write_bytes"] / nbytes,
            "log_waves": np.clip(log(waves), -8, 8),
            "log_sm_bytes_per_s": log(sheet.device_bytes_per_s / sheet.sm_count) * ones,
            "log_clock": log(sheet.clock_hz) * ones,
            "log_l2": log(max(sheet.l2_bytes, 1.0)) * ones,
        }
        for operation in TokenOperation:
            # all zeros stand for pointwise
            if operation is not TokenOperation.POINTWISE:
                is_operation = (rows["operation"] == operation).astype(float)
                features[f"operation={operation.name.lower()}"] = is_operation
        return features

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of traffic, small tensors in L2, plus a launch."""
        nbytes = rows["read_bytes"] + rows["write_bytes"]
        return memory_s(nbytes, sheet) + physics.latency_s(protocol, sheet)
