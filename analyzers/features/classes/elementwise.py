"""Kernel class of elementwise operators and fused chains of them, which read each tensor once.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np

from .. import reach
from ..sheet import Sheet
from . import Amounts, Array, Columns
from .called import Called


class Elementwise(Called):
    """``elements`` results of one or several operands.

    ``operands`` counts tensors and scalars that are read, ``tensor_operands`` those of full size;
    ``alu`` and ``sfu`` are vector operations and transcendental functions of the whole kernel.
    """

    name = "elementwise"
    eager_s = reach.EAGER_CALL_S["elementwise"]
    parameters = ("elements", "read_bytes", "write_bytes")
    optional = {
        "alu": 0,
        "sfu": 0,
        "operands": 1,
        "tensor_operands": 1,
    }
    is_own = True
    increasing = ("special_share",)  # features with which time only rises

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the counts, which the rows have as columns; there are no products."""
        nothing = np.zeros_like(rows["elements"])
        return Amounts(
            nothing, nothing, rows["alu"], rows["sfu"], rows["read_bytes"], rows["write_bytes"]
        )

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the body against the call, and features of rates for bodies that outlast calls.

        A forest would use other features of the machine to recognize hosts, which differ more than
        GPUs do.
        """
        body = self.body_s(rows, dtype, sheet)
        # a feature of the device is 0 for bodies that the host's call hides; half a call is the
        # border with which the shipped weights were fitted
        large = body > self.eager_s / 2
        nbytes = rows["read_bytes"] + rows["write_bytes"]
        special = rows["sfu"] / np.maximum(rows["elements"], 1)
        special_s = rows["sfu"] / sheet.special_op_per_s("f32")
        return {
            "log_body": np.log(body / self.eager_s),
            # far below or above its capacity, L2 holds everything or nothing: no further effect
            "log_beyond_l2": np.clip(np.log(nbytes / max(sheet.l2_bytes, 1.0)), -3, 3) * large,
            "special": special,
            "special_share": special_s / body * large,
            "tensor_operands": rows["tensor_operands"],
            "scalar_operands": rows["operands"] - rows["tensor_operands"],
        }

    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the time of all bytes at the bandwidth that kernels reach."""
        # at least one byte, as the logarithm is a feature
        nbytes = np.maximum(rows["read_bytes"] + rows["write_bytes"], 1.0)
        body: Array = nbytes / reach.memory_bytes_per_s(sheet)
        return body
