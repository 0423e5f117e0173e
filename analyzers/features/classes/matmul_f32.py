"""Kernel class of FP32 matrix products without TF32: on the lanes of a GPU or FP32 matrix cores.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfc.common.fitted import FILE_NAME, read_constants

from .. import lanes, reach
from ..lanes import ITEM
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, of_products
from .called import Called

OVERLAP = read_constants(Path(__file__).parents[1] / FILE_NAME)["traffic_overlap"].number
"""Order of the norm that joins the times of arithmetic and traffic, which overlap, since loads run
well ahead of their use."""
FILLS = ((128, 128), (128, 64), (64, 64), (32, 128), (128, 32))
"""Rows and columns of tiles; how far a product fills whole waves of them is a feature."""


class MatmulF32(Called):
    """``y[batch, m, n] = x[batch, m, k] · w[batch, k, n]`` in FP32 throughout.

    ``transposed`` is 1 if ``w`` is stored as ``[n, k]``, as the weights of linear layers are.
    """

    name = "matmul_f32"
    eager_s = reach.EAGER_CALL_S["matmul_f32"]
    parameters = ("m", "n", "k")
    optional = {"batch": 1, "transposed": 0}
    categories = ("batched", "single", "back to back")  # of rows, calibrated separately

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts, with each operand once."""
        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        mac = batch * m * n * k
        return of_products(mac, mac, ITEM * batch * (m * k + k * n), ITEM * batch * m * n)

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return the category: batched or single call of the library, or without its launch."""
        if protocol is not Protocol.EAGER:
            return np.full(len(rows["m"]), self.categories.index("back to back"), np.intp)
        batched, single = map(self.categories.index, ("batched", "single"))
        return np.where(rows["batch"] > 1, batched, single)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of tiles and waves, of alignment, of arithmetic and traffic."""
        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        compute, traffic = self.compute_s(rows, sheet), self.traffic_s(rows, sheet)
        body = self.body_s(rows, dtype, sheet)
        # the call hides a body shorter than a third of it (`reach.LAUNCH_SHARE`): features of
        # its rates would be noise, so that they are 0
        large = body > self.eager_s / 3
        nbytes = ITEM * batch * (m * k + k * n + m * n)
        features = {
            "log_body": np.log(body / self.eager_s),
            "log_intensity": np.log(compute / traffic) * large,
            "log_m": np.log2(m),
            "log_n": np.log2(n),
            "log_k": np.log2(k),
            "log_batch": np.log2(batch),
            # far below or above its capacity, L2 holds everything or nothing: no further effect
            "log_beyond_l2": np.clip(np.log(nbytes / max(sheet.l2_bytes, 1.0)), -4, 4) * large,
            # filled share of tiles of 128 by 64 elements, 8192 together
            "pad": m * n / (np.ceil(m / 128) * np.ceil(n / 64) * 8192),
            # time of the best tiling over that of the bare multiply–adds at the peak rate
            "waste": np.log(compute * lanes.peak_flop_per_s(sheet) / (2 * batch * m * n * k)),
            "align_m": alignment(m),
            "align_n": alignment(n),
            "align_k": alignment(k),
            "transposed": rows["transposed"],
        }
        for height, width in FILLS:
            tiles = batch * np.ceil(m / height) * np.ceil(n / width)
            waves = np.ceil(tiles / sheet.sm_count)
            filled = batch * m * n / (waves * sheet.sm_count * height * width)
            features[f"fill_{height}x{width}"] = filled
            # beyond 64 waves (2 to the 6th) the last, partly filled one no longer matters
            features[f"waves_{height}x{width}"] = np.clip(np.log2(tiles / sheet.sm_count), -6, 6)
        return features

    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the norm of the best tile's waves and of traffic, which overlap in part."""
        compute, traffic = self.compute_s(rows, sheet), self.traffic_s(rows, sheet)
        body: Array = (compute**OVERLAP + traffic**OVERLAP) ** (1 / OVERLAP)
        return body

    def compute_s(self, rows: Columns, sheet: Sheet) -> Array:
        """Return the time of whole waves of the fastest tile."""
        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        return lanes.compute_s(m, n, k, batch, rows["transposed"], sheet)

    def traffic_s(self, rows: Columns, sheet: Sheet) -> Array:
        """Return the time of operands at the bandwidth that kernels reach, plus repeated reads."""
        amounts = self.amounts(rows, "f32")
        nbytes = amounts.read_bytes + amounts.write_bytes
        # transposed weights are stored along the reduction, as inputs are; tiles of two such
        # operands are read more than once before Volta (`lanes.again_s`); this was seen for
        # single products only
        crossed = (rows["transposed"] > 0) & (rows["batch"] == 1)
        reread_s = np.where(crossed, lanes.again_s(rows["m"], rows["n"], rows["k"], sheet), 0.0)
        traffic: Array = nbytes / reach.memory_bytes_per_s(sheet) + reread_s
        return traffic


def alignment(extent: Array) -> Array:
    """Return 2 for multiples of 32 (whole tiles), 1 for those of 4 (whole vectors), else 0."""
    level: Array = np.where(extent % 32 == 0, 2.0, np.where(extent % 4 == 0, 1.0, 0.0))
    return level
