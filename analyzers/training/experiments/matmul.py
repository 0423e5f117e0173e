"""Matrix products in recorded graphs: eight machines, six ways to quantise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...rows import Rows
from ..calibrate import Calibrating
from ..evaluate import Slice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ANCHORED = frozenset({"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"})


def full(rows: Rows) -> NDArray[np.bool_]:
    """bf16 on the machines that others publish figures of."""
    return everything(rows) & (rows.dtype == "bf16" and rows.target in ANCHORED)


def of(dtype: str, weight_bits: int = 0, scale_block: int = 0) -> Slice:
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
        found = everything(rows) & (rows.dtype == dtype)
        for column, value in (("weight_bits", weight_bits), ("scale_block", scale_block)):
            found &= rows.columns[column] == value if column in rows.columns else value == 0
        return found

    return Slice(names[dtype, weight_bits, scale_block], which, 0.08)


def half(rows: Rows) -> NDArray[np.bool_]:
    """bf16."""
    return everything(rows) & (rows.dtype == "bf16")


def of_intel(rows: Rows) -> NDArray[np.bool_]:
    """The one machine of another maker, which has no kin."""
    return everything(rows) & (rows.target == "arc-pro-b60")


def of_nvidia(rows: Rows) -> NDArray[np.bool_]:
    """All others."""
    return ~of_intel(rows)


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
    title="Matrix product, graph replay",
    class_name="matmul",
    sources=("aic_gemm",),
    group=("n", "k"),
    recipe=Recipe(
        trees=600,
        depth=10,
        learning_rate=0.06,
        columns=0.5,
        max_rows=800_000,
        apart={"trees": 200, "depth": 7, "learning_rate": 0.1, "max_rows": 150_000},
    ),
    calibrating=Calibrating(turns=3),
    shapes=(
        Slice("bf16 on A100, H100, H200, B200", full, 0.06, "constants 12–22 %; tables 7–15 %"),
        Slice("bf16", half),
        *QUANTISED,
        Slice("all", everything),
    ),
    machines=(
        Slice("bf16 on A100, H100, H200, B200", full, 0.14, "spec roofline 44–57 %"),
        Slice("bf16, NVIDIA", kin),
        Slice("all, NVIDIA", of_nvidia),
        Slice("all, Intel", of_intel),
    ),
)
