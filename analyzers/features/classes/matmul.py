"""Kernel class of matrix products, batched or not, with weights as wide as the product or less.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of

from .. import physics, power_limit, tiling
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass, of_products


class Matmul(KernelClass):
    """``y[batch, m, n] = x[batch, m, k] · w[batch, k, n]``.

    ``weight_bits`` is the size of an element of ``w`` (8 or 4 for weight-only quantisation, 0 for
    the computed type), ``input_bits`` that of ``x`` before a dynamic quantisation, ``output_bits``
    that of ``y``; ``scale_block`` is the number of elements that share a scale: 0 for the whole
    tensor, 1 for one row or column. Bytes of scales are not counted.
    Rows of type ``f32`` are computed without TF32; with TF32 the type is ``tf32``.
    """

    name: ClassVar[str] = "matmul"
    parameters = ("m", "n", "k")
    optional = {
        "batch": 1,
        "weight_bits": 0,
        "input_bits": 0,
        "output_bits": 0,
        "scale_block": 0,
    }
    # columns that the framework decides, columns by which it chooses a kernel, features with which
    # time only rises, and categories of rows that are calibrated separately
    by_framework: ClassVar[tuple[str, ...]] = ("input_bits", "scale_block")
    chosen_by: ClassVar[tuple[str, ...]] = ("weight_bits",)
    increasing: ClassVar[tuple[str, ...]] = ("flop_per_joule", "device_bytes_per_clock")
    categories: ClassVar[tuple[str, ...]] = (
        "half",
        "half, profiled",
        "half without bf16, profiled",
        "eight bits",
        "eight bits in blocks",
        "four bits",
        "integer weights",
    )

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts, with each operand once."""
        mac = rows["batch"] * rows["m"] * rows["n"] * rows["k"]
        x_bytes, w_bytes, y_bytes = _bytes(rows, dtype)
        return of_products(mac, mac, x_bytes + w_bytes, y_bytes)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of waves of tiles, of quantising the input, and of an eager launch.

        The start of a kernel in a recorded graph is part of the tiling's estimate.
        """
        time_s = _tiling(rows, dtype, sheet).total_s + _quantise_s(rows, dtype, sheet)
        if protocol is Protocol.EAGER:
            time_s = time_s + physics.latency_s(protocol, sheet)
        return time_s

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return the category by element type and protocol.

        Integers and weights of fewer bits share a category.
        """
        # profiled and replayed products were measured by other tools: their intervals are separate
        name = "half"
        if protocol is Protocol.KERNELS:
            name = "half without bf16, profiled" if dtype == "f16" else "half, profiled"
        elif bits_of(dtype) <= 8:
            name = "eight bits" if bits_of(dtype) == 8 else "four bits"
        index = np.full(len(rows["m"]), self.categories.index(name), np.intp)
        if name == "eight bits":
            index[rows["scale_block"] > 1] = self.categories.index("eight bits in blocks")
        if dtype in ("i8", "u8"):
            index[:] = self.categories.index("integer weights")
        index[rows["weight_bits"] > 0] = self.categories.index("integer weights")
        return index

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of tiles and waves, of operands over L2, of arithmetic and traffic."""
        log = np.log2
        m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
        ones = np.ones_like(m)
        x_bytes, w_bytes, y_bytes = _bytes(rows, dtype)
        parts = _tiling(rows, dtype, sheet)
        compute_s = 2 * batch * m * n * k / power_limit.matrix_flop_per_s(dtype, sheet)
        device_s = (x_bytes + w_bytes + y_bytes) / sheet.device_bytes_per_s
        l2 = max(sheet.l2_bytes, 1.0)
        columns = {
            "log_m": log(m),
            "log_n": log(n),
            "log_k": log(k),
            "log_batch": log(batch),
            # the last tile's rows, and the remainders of 16-byte vectors
            "beyond_tile_m": np.mod(m - 1, 128) + 1,
            "beyond_vector_m": np.mod(m, 8),
            "beyond_vector_n": np.mod(n, 8),
            "beyond_vector_k": np.mod(k, 8),
            "log_intensity": log(compute_s / device_s),
            "log_compute_s": log(compute_s),
            "log_device_s": log(device_s),
            "log_tile_s": log(parts.tile_s),
            "log_tile_over_compute": log(parts.tile_s / compute_s),
            # at least 1 ns, as operands that stay in caches have no traffic of device memory;
            # beyond a factor of 64 either way the shorter time has no effect
            "log_tile_over_device": np.clip(
                log(parts.tile_s / np.maximum(parts.device_s, 1e-9)), -6, 6
            ),
            "log_work_over_latency": log(
                np.maximum(parts.tile_s, parts.device_s) / parts.latency_s
            ),
            "device_share": parts.device_s / device_s,
            "log_w_over_l2": log(w_bytes / l2),
            "log_x_over_l2": log(x_bytes / l2),
            "log_y_over_l2": log(y_bytes / l2),
            "log_waves": log(batch * np.ceil(m / 128) * np.ceil(n / 128) / sheet.sm_count),
        }
        # share of needed elements in whole waves of each tile; the best tile has most
        for height, width in tiling.TILES:
            tiles = batch * np.ceil(m / height) * np.ceil(n / width)
            slots = np.ceil(tiles / sheet.sm_count) * sheet.sm_count
            columns[f"fill_{height}x{width}"] = batch * m * n / (slots * height * width)
        x_bits, w_bits, _ = bits(rows, dtype)
        return columns | {
            "element_bits": bits_of(dtype) * ones,
            "input_bits": x_bits,
            "weight_bits": w_bits,
            "integer": float(dtype.startswith(("i", "u"))) * ones,
            # measurements of narrow weights do not say how many of them share a scale
            "scale_block": np.where(rows["weight_bits"] > 0, 0.0, rows["scale_block"]),
            "flop_per_joule": sheet.matrix_flop_per_s("bf16") / max(sheet.power_w, 1.0) * ones,
            "device_bytes_per_clock": sheet.device_bytes_per_s
            / sheet.clock_hz
            / sheet.sm_count
            * ones,
            "cuda": float(sheet.generation > 0) * ones,  # generation 0: not an NVIDIA GPU
        }


def bits(rows: Columns, dtype: str) -> tuple[Array, Array, Array]:
    """Return the bits of an element of input, weights and output."""
    computed = bits_of(dtype)
    x_bits = np.where(rows["input_bits"] > 0, rows["input_bits"], computed)
    w_bits = np.where(rows["weight_bits"] > 0, rows["weight_bits"], computed)
    # products of 8 or 4 bits write at least 16
    y_bits = np.where(rows["output_bits"] > 0, rows["output_bits"], max(computed, 16))
    return x_bits, w_bits, y_bits


def _bytes(rows: Columns, dtype: str) -> tuple[Array, Array, Array]:
    """Return the bytes of input, weights and output."""
    m, n, k, batch = rows["m"], rows["n"], rows["k"], rows["batch"]
    x_bits, w_bits, y_bits = bits(rows, dtype)
    return batch * m * k * x_bits / 8, batch * k * n * w_bits / 8, batch * m * n * y_bits / 8


def _tiling(rows: Columns, dtype: str, sheet: Sheet) -> tiling.Tiling:
    """Return the estimate of the best tiling, at the rate within the board's power limit."""
    x_bytes, w_bytes, y_bytes = _bytes(rows, dtype)
    computed = float(bits_of(dtype))
    _, w_bits, _ = bits(rows, dtype)
    product = tiling.TiledProduct(
        rows["m"],
        rows["n"],
        rows["k"],
        rows["batch"],
        x_bytes,
        w_bytes,
        y_bytes,
        np.full_like(x_bytes, computed),  # the input is staged after it was quantised
        w_bits,
    )
    return tiling.estimate(product, power_limit.matrix_flop_per_s(dtype, sheet), sheet)


def _quantise_s(rows: Columns, dtype: str, sheet: Sheet) -> Array:
    """Return the time of a kernel before the product, which writes the input in fewer bits."""
    computed = bits_of(dtype)
    x_bits, _, _ = bits(rows, dtype)
    # read in the type of the input, written in that of the product
    nbytes = rows["batch"] * rows["m"] * rows["k"] * (x_bits + computed) / 8
    beyond = np.clip(nbytes / max(sheet.l2_bytes, 1.0) - 0.5, 0, 1)
    # shares of rated numbers, as an element-wise kernel has them: a quarter of the bandwidth of L2,
    # and half of the latency of a product, which stages no tiles
    rate = beyond * sheet.device_bytes_per_s + (1 - beyond) * sheet.l2_bytes_per_s / 4
    latency_s = (tiling.LATENCY_S + tiling.LATENCY_CLOCKS / sheet.clock_hz) / 2
    time_s: Array = np.where(x_bits > computed, latency_s + nbytes / rate, 0.0)
    return time_s
