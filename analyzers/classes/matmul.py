"""Matrix products, batched or not, with weights of fewer bits than what is computed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from . import Amounts, KernelClass

if TYPE_CHECKING:
    from ..sheet import Sheet
    from . import Array, Columns

BITS: Mapping[str, int] = {
    "f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8,
    "i8": 8, "u8": 8, "i4": 4, "u4": 4, "f4e2m1": 4,
}  # fmt: skip
TILES = ((64, 64), (128, 64), (128, 128), (256, 128))


class Matmul(KernelClass):
    """``y[batch, m, n] = x[batch, m, k] · w[batch, k, n]``.

    ``weight_bits`` is what an element of ``w`` occupies (8 or 4 for weight-only quantisation, 0
    for the computed type), ``input_bits`` what one of ``x`` occupies before a dynamic
    quantisation inside the kernel, ``output_bits`` one of ``y``; ``scale_block`` is how many
    elements share a scale: 0 the whole tensor, 1 one row or column. Scales are counted as four
    bytes a block, one byte in blocks of up to 32.
    """

    name: ClassVar[str] = "matmul"
    parameters: ClassVar[tuple[str, ...]] = ("m", "n", "k")
    optional: ClassVar[Mapping[str, float]] = {
        "batch": 1, "weight_bits": 0, "input_bits": 0, "output_bits": 0, "scale_block": 0,
    }  # fmt: skip

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Each operand once."""
        import numpy as np

        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        mac = batch * m * n * k
        x_bits, w_bits, y_bits = bits(rows, dtype)
        nothing = np.zeros_like(mac)
        return Amounts(
            mac,
            mac,
            nothing,
            nothing,
            batch * (m * k * x_bits + k * n * w_bits) / 8,
            batch * m * n * y_bits / 8,
        )

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Tiles and waves, work against caches, and the balance of arithmetic and traffic."""
        import numpy as np

        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        amounts = self.amounts(rows, dtype)
        nbytes = amounts.read_bytes + amounts.write_bytes
        compute_s = 2 * amounts.mac / sheet.matrix_flop_per_s(dtype)
        device_s = nbytes / sheet.device_bytes_per_s
        log = np.log2
        found = {
            "log_m": log(m),
            "log_n": log(n),
            "log_k": log(k),
            "log_intensity": log(compute_s / device_s),
            "log_compute_s": log(compute_s),
            "log_device_s": log(device_s),
            "log_l2_share": log(nbytes / max(sheet.l2_bytes, 1.0)),
        }
        for height, width in TILES:
            tiles = batch * np.ceil(m / height) * np.ceil(n / width)
            waves = np.ceil(tiles / sheet.sm_count)
            found[f"waves_{height}x{width}"] = tiles / sheet.sm_count
            found[f"fill_{height}x{width}"] = (
                batch * m * n / (waves * sheet.sm_count * height * width)
            )
        return found


def bits(rows: Columns, dtype: str) -> tuple[Array, Array, Array]:
    """Bits an element of input, weights and output."""
    import numpy as np

    own = BITS.get(dtype, 32)
    x_bits = np.where(rows["input_bits"] > 0, rows["input_bits"], own)
    w_bits = np.where(rows["weight_bits"] > 0, rows["weight_bits"], own)
    y_bits = np.where(rows["output_bits"] > 0, rows["output_bits"], max(own, 16))
    return x_bits, w_bits, y_bits
