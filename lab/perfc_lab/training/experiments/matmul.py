"""Matrix products in recorded graphs and under profilers, six ways to quantise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Protocol, Rows

from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANCHORED = frozenset({"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"})


def full(rows: Rows) -> NDArray[np.bool_]:
    """bf16 on the machines that others publish figures of."""
    return half(rows) & (rows.target in ANCHORED)


def replayed(rows: Rows) -> NDArray[np.bool_]:
    """Times of a recorded graph, those of the first table."""
    return everything(rows) & (rows.protocol is Protocol.GRAPH)


def profiled(rows: Rows) -> NDArray[np.bool_]:
    """Times of kernels under a profiler, those of the other tables."""
    return ~replayed(rows)


def of(dtype: str, weight_bits: int = 0, scale_block: int = 0) -> RowSlice:
    """One way to quantise."""
    names = {
        ("f8e4m3", 0, 0): "fp8, per tensor",
        ("f8e4m3", 0, 128): "fp8, blocks of 128",
        ("f4e2m1", 0, 16): "nvfp4",
        ("f16", 8, 0): "f16, int8 weights",
        ("f16", 4, 0): "f16, int4 weights",
        ("i8", 0, 1): "int8 (SmoothQuant)",
    }

    def which(rows: Rows) -> NDArray[np.bool_]:
        found = replayed(rows) & (rows.dtype == dtype)
        for column, value in (("weight_bits", weight_bits), ("scale_block", scale_block)):
            found &= rows.columns[column] == value if column in rows.columns else value == 0
        return found

    return RowSlice(names[dtype, weight_bits, scale_block], which, 0.08)


def half(rows: Rows) -> NDArray[np.bool_]:
    """bf16."""
    return replayed(rows) & (rows.dtype == "bf16")


def of_intel(rows: Rows) -> NDArray[np.bool_]:
    """The one machine of another maker, which has no kin."""
    return everything(rows) & (rows.target == "arc-pro-b60")


def of_nvidia(rows: Rows) -> NDArray[np.bool_]:
    """All others."""
    return replayed(rows) & ~of_intel(rows)


def kin(rows: Rows) -> NDArray[np.bool_]:
    """bf16 of all others."""
    return half(rows) & of_nvidia(rows)


QUANTISED = (
    of("f8e4m3"),
    of("f8e4m3", scale_block=128),
    of("f4e2m1", scale_block=16),
    of("f16", weight_bits=8),
    of("f16", weight_bits=4),
    of("i8", scale_block=1),
)

EXPERIMENT = OperatorExperiment(
    name="matmul",
    title="Matrix product, most in recorded graphs",
    class_name="matmul",
    sources=("aic_gemm", "vidur_mlp", "llmservingsim_layers", "deepbench"),
    group=("n", "k"),
    recipe=Recipe(
        trees=600,
        depth=0,
        leaves=600,
        learning_rate=0.06,
        least_weight=1.0,
        subsample=0.7,
        objective="reg:absoluteerror",
        max_rows=800_000,
        keep_small=True,
        apart={
            "trees": 150,
            "depth": 7,
            "leaves": 0,
            "learning_rate": 0.12,
            "least_weight": 5.0,
            "subsample": 0.8,
            "columns": 0.5,
            "objective": "reg:squarederror",
            "max_rows": 60_000,
            "keep_small": 0,
        },
    ),
    calibrating=Calibrating(turns=2),
    shapes=(
        RowSlice("bf16 on A100, H100, H200, B200", full, 0.06, "constants 12–22 %; tables 7–15 %"),
        RowSlice("bf16", half),
        *QUANTISED,
        RowSlice("all", replayed),
        RowSlice("half precision, under a profiler", profiled),
    ),
    machines=(
        RowSlice("bf16 on A100, H100, H200, B200", full, 0.14, "spec roofline 44–57 %"),
        RowSlice("bf16, NVIDIA", kin),
        RowSlice("all, NVIDIA", of_nvidia),
        RowSlice("all, Intel", of_intel),
        RowSlice("half precision, under a profiler", profiled),
    ),
)
