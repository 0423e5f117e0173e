"""Features of launches for predictors of whole runs, and the roofline time that they correct."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..features import physics
from ..features.classes import Amounts
from ..features.table import KernelBatch
from .launch_kind import LaunchKind

if TYPE_CHECKING:
    from ..features.classes import Array
    from ..features.sheet import Sheet
    from .columns import Columns
    from .setting import Setting

TILE = 128
"""Rows and columns of a tile of library kernels."""
FRAGMENT = 8
"""Multiple to which extents are padded for tensor cores: n and k of ``mma.m16n8k8`` (PTX)."""
MOST_PADDING = 4.0
"""Maximum factor of padding: vectors would have a larger one, but libraries do not pad them."""
TRAINING_PASSES = 3.0
"""Work of a training step over its forward pass: forward, gradient of inputs, gradient of weights.
It scales launches of the forward pass, as gradients are not listed."""
LAUNCH_S = 2e-6
"""Time of a launch without work, so that no physical estimate is near zero; the order of magnitude
of the shortest kernels. Trees correct it."""
SPECIAL_COST = 4.0
"""Vector operations that take as long as one exponential: a multiprocessor has about four times as
many lanes for additions as for special functions."""


def floors_s(columns: Columns, setting: Setting, sheet: Sheet) -> Array:
    """Return the lower bounds of launches in seconds, ``[launches]``.

    Products, convolutions and attention count their arithmetic and the traffic of operands and
    results in the narrower type. Other launches count 0, as a better compiler would fuse them; they
    have no ``least_*`` bytes.
    """
    a = columns.amounts
    none = np.zeros(len(columns))
    least = Amounts(
        a["mac"], a["floor_mac"], none, none, a["least_read_bytes"], a["least_write_bytes"]
    )
    return physics.floor_s(least, setting.precision.dtype, sheet)


SHARED = (
    "device_tb_per_s",
    "ridge_flop_per_byte",
    "sm_count",
    "channels_last",
    "version",
    "is_bf16",
    "is_mixed",
)
"""Features that all launches of a step have in common: the machine and the setting."""


def tabulate(columns: Columns, setting: Setting, sheet: Sheet) -> KernelBatch:
    """Return features of launches with physical estimates and lower bounds.

    The estimate is the roofline of one launch at data sheet rates, with products padded for tensor
    cores, depthwise convolutions on the vector unit, and a training step as three forward passes.
    """
    a, traits = columns.amounts, columns.traits
    dtype = setting.precision.dtype
    nbytes = a["read_bytes"] + a["write_bytes"]
    vector = sheet.vector_flop_per_s("f32")
    rate = sheet.matrix_flop_per_s(dtype)
    # libraries run depthwise convolutions without tensor cores, at the FP32 rate of the lanes
    depthwise = columns.kind == LaunchKind.DEPTHWISE.number
    padding = np.clip(padded(traits["n"]) * padded(traits["k"]), 1.0, MOST_PADDING)
    matrix_s = 2 * a["mac"] / rate
    matrix_s *= np.where(depthwise, np.maximum(rate / vector, 1.0), padding)
    device_s = nbytes / sheet.device_bytes_per_s
    vector_s = (a["alu"] + SPECIAL_COST * a["sfu"]) / vector
    passes = TRAINING_PASSES if setting.training else 1.0
    scale_s = passes * (np.maximum.reduce([matrix_s, device_s, vector_s]) + LAUNCH_S)
    tiles = np.ceil(a["m"] / TILE) * np.ceil(traits["n"] / TILE) * a["groups"]
    features: dict[str, Array] = {
        "kind": columns.kind,
        "log2_m": log2(a["m"]),
        "log2_n": log2(traits["n"]),
        "log2_k": log2(traits["k"]),
        "log2_groups": log2(a["groups"]),
        "window": traits["window"],
        "stride": traits["stride"],
        "log2_channels": log2(traits["channels"]),
        "log2_inner": log2(traits["inner"]),
        "log2_reduced": log2(traits["reduced"]),
        "permuted": traits["permuted"],
        "read_bits": traits["read_bits"],
        "write_bits": traits["write_bits"],
        "operands": traits["operands"],
        "nodes": traits["nodes"],
        # 1 (a byte, a product) and 1 ns are added so that nothing is divided by 0
        "log2_intensity": np.log2((a["mac"] + 1) / (nbytes + 1)),
        "log2_bytes": log2(nbytes),
        "log2_mac": log2(a["mac"]),
        "log2_balance": np.log2((matrix_s + 1e-9) / (device_s + 1e-9)),
        "alu_per_byte": a["alu"] / (nbytes + 1),
        "sfu_per_byte": a["sfu"] / (nbytes + 1),
        "written_share": a["write_bytes"] / (nbytes + 1),
        # alignment to fragments of tensor cores and to tiles
        "n_by_8": divides(traits["n"], 8),
        "k_by_8": divides(traits["k"], 8),
        "n_by_64": divides(traits["n"], 64),
        "log2_bytes_per_l2": np.log2((nbytes + 1) / max(sheet.l2_bytes, 1.0)),
        "log2_waves": np.log2((tiles + 1) / sheet.sm_count),
    }
    features |= constants(len(columns), setting, sheet)
    values = np.stack(list(features.values()), axis=1).astype(np.float32)
    floor_s = floors_s(columns, setting, sheet)
    # the last field, the category of intervals, is the same for all launches
    return KernelBatch(tuple(features), values, scale_s, floor_s, np.zeros(len(columns), np.intp))


def constants(count: int, setting: Setting, sheet: Sheet) -> dict[str, Array]:
    """Return the features that all launches of a step share, by name, ``[count]``."""
    rate = sheet.matrix_flop_per_s(setting.precision.dtype)
    shared = (
        sheet.device_bytes_per_s / 1e12,  # in TB/s
        rate / sheet.device_bytes_per_s,
        float(sheet.sm_count),
        float(setting.channels_last),
        setting.version[0] + setting.version[1] / 100,  # ordered: 2.9 before 2.10
        float(setting.precision.dtype == "bf16"),
        float(setting.precision.is_mixed),
    )
    return {name: np.full(count, value) for name, value in zip(SHARED, shared, strict=True)}


def log2(values: Array) -> Array:
    """Return the base-2 logarithm of counts; 0 for counts below 1."""
    result: Array = np.log2(np.maximum(values, 1.0))
    return result


def padded(extent: Array) -> Array:
    """Return the factor by which padding to whole fragments enlarges an extent; 1 for extent 0."""
    positive = np.maximum(extent, 1.0)
    enlarged = np.ceil(positive / FRAGMENT) * FRAGMENT / positive
    result: Array = np.where(extent >= 1, enlarged, 1.0)
    return result


def divides(extent: Array, by: int) -> Array:
    """Return 1 for extents that ``by`` divides, else 0."""
    result: Array = np.where(extent % by == 0, 1.0, 0.0)
    return result
