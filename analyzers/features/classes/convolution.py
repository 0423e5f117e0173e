"""Kernel class of 2D convolutions: direct, grouped, depthwise, minimal filtering (Winograd).

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` (`called.Called`, from `Convolution.body_s`) from the features here, in
logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of

from .. import reach
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, of_products
from .called import Called


class Convolution(Called):
    """``out_h`` × ``out_w`` results of ``out_channels`` from a window of ``in_channels``.

    Stride-one windows may use minimal filtering, which cuts the products of the direct count by
    up to ``4 r / (r + 3)`` per axis (Lavin & Gray 2016, section 3): the lower bound divides by this
    factor, the physical estimate ``scale_s`` does not. FFTs can save more in theory; no measured
    row does.

    ``pad_h`` and ``pad_w`` are the padding before an axis; the padding behind it follows from the
    other extents. Input positions that no window reads do not count, as in the IR.
    """

    name = "convolution"
    eager_s = reach.EAGER_CALL_S["convolution"]
    parameters = (
        "batch",
        "in_channels",
        "out_channels",
        "in_h",
        "in_w",
        "out_h",
        "out_w",
        "kernel_h",
        "kernel_w",
    )
    optional = {
        "stride_h": 1,
        "stride_w": 1,
        "groups": 1,
        "transposed": 0,
        "pad_h": 0,
        "pad_w": 0,
        "dilation_h": 1,
        "dilation_w": 1,
    }
    derived = ("in_h", "in_w", "pad_h", "pad_w")  # columns that follow from the others
    categories = ("eager", "back to back")  # of rows, calibrated separately

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts: products of direct convolution, at least those of filtering."""
        outputs = rows["batch"] * rows["out_channels"] * rows["out_h"] * rows["out_w"]
        inputs = rows["batch"] * rows["in_channels"] * rows["in_h"] * rows["in_w"]
        window = rows["in_channels"] / rows["groups"] * rows["kernel_h"] * rows["kernel_w"]
        # every input of a transposed convolution is multiplied with the filters of all output
        # channels of its group
        mac = np.where(
            rows["transposed"] > 0,
            inputs * rows["out_channels"] / rows["groups"] * rows["kernel_h"] * rows["kernel_w"],
            outputs * window,
        )
        element_bytes = bits_of(dtype) / 8
        weights = rows["out_channels"] * window
        seen = rows["batch"] * rows["in_channels"] * touched(rows, "h") * touched(rows, "w")
        read = np.where(rows["transposed"] > 0, inputs, seen)
        return of_products(
            mac, mac / gain(rows), element_bytes * (read + weights), element_bytes * outputs
        )

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return 0 for eager calls, which include a launch, else 1.

        Libraries choose the kernels of both separately.
        """
        return np.full(len(rows["batch"]), int(protocol is not Protocol.EAGER), np.intp)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of the convolution as a product: positions are rows, channels columns."""
        amounts = self.amounts(rows, dtype)
        compute, traffic = compute_s(amounts, dtype, sheet), traffic_s(amounts, sheet)
        body = compute + traffic
        # the call hides a body shorter than a third of it (`reach.LAUNCH_SHARE`): features of
        # its rates would be noise, so that they are 0
        large = body > self.eager_s / 3
        positions = rows["batch"] * rows["out_h"] * rows["out_w"]
        channels = rows["out_channels"] / rows["groups"]
        nbytes = amounts.read_bytes + amounts.write_bytes
        features = {
            "log_body": np.log(body / self.eager_s),
            "log_intensity": np.log(compute / traffic) * large,
            "log_positions": np.log2(positions),
            "log_in": np.log2(rows["in_channels"] / rows["groups"]),
            "log_out": np.log2(channels),
            "log_groups": np.log2(rows["groups"]),
            "log_batch": np.log2(rows["batch"]),
            "log_side": np.log2(rows["out_h"] * rows["out_w"]) / 2,
            "window": rows["kernel_h"] * rows["kernel_w"],
            "stride": rows["stride_h"],
            "gain": gain(rows),
            # far below or above its capacity, L2 holds everything or nothing: no further effect
            "log_beyond_l2": np.clip(np.log(nbytes / max(sheet.l2_bytes, 1.0)), -4, 4) * large,
            # four f32 channels are one load of 16 bytes, 32 channels the narrowest tile below;
            # columns beyond a multiple of 4 fill no tile of F(4, r)
            "align_in": (rows["in_channels"] % 4 == 0).astype(float),
            "align_out": (rows["out_channels"] % 32 == 0).astype(float),
            "odd_side": rows["out_w"] % 4,
        }
        # usual tiles of products, from large to small
        for height, width in ((128, 128), (128, 64), (64, 32)):
            tiles = rows["groups"] * np.ceil(positions / height) * np.ceil(channels / width)
            waves = np.ceil(tiles / sheet.sm_count)
            area = waves * sheet.sm_count * height * width
            features[f"fill_{height}x{width}"] = rows["groups"] * positions * channels / area
        # tiles of 4 by 4 positions, as minimal filtering F(4, r) has them
        tiles = np.ceil(rows["out_h"] / 4) * np.ceil(rows["out_w"] / 4) * rows["batch"]
        features["tile_fill"] = positions / (16 * tiles)
        features["log_tiles"] = np.log2(tiles * np.ceil(channels / 32) / sheet.sm_count)
        return features

    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the time of direct products plus that of traffic."""
        amounts = self.amounts(rows, dtype)
        return compute_s(amounts, dtype, sheet) + traffic_s(amounts, sheet)


def compute_s(amounts: Amounts, dtype: str, sheet: Sheet) -> Array:
    """Return the time of direct products at the rate of the element type."""
    # f32 without TF32 has a rule of its sustained rate; matrix units count at their rated one
    is_single = dtype == "f32"
    rate = reach.single_flop_per_s(sheet) if is_single else sheet.matrix_flop_per_s(dtype)
    compute: Array = 2 * amounts.mac / rate
    return compute


def traffic_s(amounts: Amounts, sheet: Sheet) -> Array:
    """Return the time of operands and result, each once, at the bandwidth that kernels reach."""
    nbytes = amounts.read_bytes + amounts.write_bytes
    traffic: Array = nbytes / reach.memory_bytes_per_s(sheet)
    return traffic


def touched(rows: Columns, axis: str) -> Array:
    """Return the number of positions along an axis, ``h`` or ``w``, that some window reads.

    It is the count of `perfc.ir.ops.convolution.window.touched`, or less (a lower bound) where
    dilated windows are strided.
    """
    extent, out, kernel, stride, pad, dilation = (
        rows[f"{name}_{axis}"] for name in ("in", "out", "kernel", "stride", "pad", "dilation")
    )
    # from the first tap of the first window to the last tap of the last one, padding included
    span = (out - 1) * stride + (kernel - 1) * dilation + 1
    overlapping = np.minimum(extent, span - pad)

    def read_before(position: Array, taps: Array) -> Array:
        """Return the number of positions read before ``position``, which counts padding.

        Windows have ``taps`` positions and do not overlap.
        """
        offset = np.clip(position, 0, (out - 1) * stride + taps)
        return offset // stride * taps + np.minimum(offset % stride, taps)

    # a dilated window has gaps between its taps: without overlap only its first tap is counted
    has_gaps = (dilation > 1) & (kernel > 1)
    taps = np.where(has_gaps, 1.0, np.minimum(kernel, stride))
    separate = read_before(pad + extent, taps) - read_before(pad, taps)
    # windows read every position of the span if they overlap or touch; dilated ones if they move by
    # one position and enough of them fill the gaps
    is_whole = np.where(has_gaps, (stride == 1) & (out >= dilation), kernel >= stride)
    return np.maximum(np.where(is_whole, overlapping, separate), 0.0)


def gain(rows: Columns) -> Array:
    """Return the factor by which minimal filtering F(4, r) can reduce the products.

    It is 1 for strided or dilated windows, which have no such algorithm.
    """
    plain = (rows["stride_h"] == 1) & (rows["stride_w"] == 1)
    plain &= (rows["dilation_h"] == 1) & (rows["dilation_w"] == 1)
    result = np.ones_like(rows["kernel_h"])
    for r in (rows["kernel_h"], rows["kernel_w"]):
        # four results by a filter of r: 4 r products directly, r + 3 by minimal filtering
        result = result * np.where(r > 1, 4 * r / (r + 3), 1.0)
    factor: Array = np.where(plain, result, 1.0)
    return factor
