"""Fused experts in recorded graphs, seven ways to quantise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Rows

from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray

KIN = frozenset({"h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "gb200"})


def half(rows: Rows) -> NDArray[np.bool_]:
    """Weights and tokens of 16 bits."""
    which: NDArray[np.bool_] = everything(rows) & (rows.dtype == "bf16")
    return which & (rows.columns["weight_bits"] == 0) if "weight_bits" in rows.columns else which


def quantised(rows: Rows) -> NDArray[np.bool_]:
    """All others."""
    return ~half(rows)


def with_kin(rows: Rows) -> NDArray[np.bool_]:
    """On machines of which another has the same chip or nearly so."""
    which: NDArray[np.bool_] = everything(rows) & (rows.target in KIN)
    return which


EXPERIMENT = OperatorExperiment(
    name="experts",
    title="Fused experts in recorded graphs",
    class_name="experts",
    sources=("aic_moe",),
    group=("hidden", "inner", "chosen", "experts", "ranks"),
    recipe=Recipe(
        trees=300,
        depth=16,
        leaves=300,
        learning_rate=0.15,
        least_weight=10.0,
        columns=0.5,
        objective="reg:absoluteerror",
        cells=3_000,
        # where a machine is left out, two trees a round of all features: one tree's noise is most
        # of what such a forest errs by
        apart={
            "max_rows": 300_000,
            "trees": 120,
            "depth": 12,
            "leaves": 300,
            "beside": 2,
            "columns": 1.0,
            "node_columns": 0.35,
            "subsample": 0.5,
        },
    ),
    calibrating=Calibrating(turns=2),
    shapes=(
        RowSlice("all", everything, 0.09),
        RowSlice("16 bits", half),
        RowSlice("quantised", quantised),
    ),
    tested_rows=12_000,
    whole=("hidden", "chosen", "experts"),
    parts=30,
    shape_folds=10,
    groups=(
        RowSlice("all", everything, 0.14),
        RowSlice("16 bits", half),
        RowSlice("quantised", quantised),
    ),
    machines=(RowSlice("H100, H200, B200, GB200", with_kin, 0.12), RowSlice("all", everything)),
)
