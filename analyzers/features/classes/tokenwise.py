"""Kernels of serving frameworks that pass every token once: norms, activations, rotations."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from .. import physics
from . import Amounts, KernelClass
from .attention import memory_s

if TYPE_CHECKING:
    from ..rows import Protocol
    from ..sheet import Sheet
    from . import Array, Columns


class TokenOperation(IntEnum):
    """Operations on a token, as the column ``operation`` numbers them."""

    POINTWISE = 0
    """Sums with a residual, conversions, and all that is none of the others."""
    NORMALIZATION = 1
    """Statistics of a token first, sums with a residual and quantisation included."""
    ACTIVATION = 2
    """Activation functions, gated or not."""
    ROTATION = 3
    """Rotation of queries and keys by their position, in place."""
    LOOKUP = 4
    """Look-up of a token's row in a table."""


class Tokenwise(KernelClass):
    """``tokens``, of which all bytes are read and written once; ``operation`` says what for.

    Operations are too few to count, so that a fused kernel is distinguished by its bytes: a norm
    that quantises is a norm that writes less.

    Source: ``layernorm_kernels.cu``, ``activation_kernels.cu`` and ``pos_encoding_kernels.cu`` of
    vLLM, one block a token.
    """

    name = "tokenwise"
    parameters = ("tokens", "read_bytes", "write_bytes")
    optional = {"operation": 0}

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the bytes alone."""
        nothing = np.zeros_like(rows["tokens"])
        return Amounts(nothing, nothing, nothing, nothing, rows["read_bytes"], rows["write_bytes"])

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the traffic against caches, blocks against multiprocessors.

        Not the bytes of a token: they are few values, and a forest would learn models by heart.
        """
        log = np.log2
        nbytes = rows["read_bytes"] + rows["write_bytes"]
        waves = rows["tokens"] / sheet.sm_count
        ones = np.ones_like(nbytes)
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
            if operation is not TokenOperation.POINTWISE:
                is_one = (rows["operation"] == operation).astype(float)
                features[f"operation={operation.name.lower()}"] = is_one
        return features

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the traffic, of which little stays in L2, and a launch."""
        nbytes = rows["read_bytes"] + rows["write_bytes"]
        return memory_s(nbytes, sheet) + physics.latency_s(protocol, sheet)
