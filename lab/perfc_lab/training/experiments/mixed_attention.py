"""Attention that mixes a chunk of a prompt with single tokens of other sequences."""

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

ANCHOR = "sum of both halves 41 %"


def with_kin(rows: Rows) -> NDArray[np.bool_]:
    """On the machine that several were measured on: no machine is left out beside them."""
    which: NDArray[np.bool_] = everything(rows) & (rows.target == "rtx-pro-6000-server")
    return which


EXPERIMENT = OperatorExperiment(
    name="mixed_attention",
    title="Attention of prompts mixed with single tokens, under a profiler",
    class_name="mixed_attention",
    sources=("llmservingsim_attention",),
    group=("heads", "kv_heads"),
    recipe=Recipe(
        trees=150,
        depth=12,
        leaves=128,
        learning_rate=0.15,
        least_weight=10.0,
        columns=1.0,
        node_columns=0.5,
        subsample=0.5,
        beside=4,
        objective="reg:absoluteerror",
        max_rows=60_000,
        cells=3_000,
        apart={"max_rows": 30_000, "trees": 80, "learning_rate": 0.2},
    ),
    calibrating=Calibrating(turns=4),
    shapes=(
        RowSlice("machine measured with other heads", with_kin, 0.06, ANCHOR),
        RowSlice("all", everything),
    ),
    every_fold=True,
    whole=("model",),
    groups=(
        RowSlice("machine measured with other models", with_kin, 0.06, ANCHOR),
        RowSlice("all", everything),
    ),
    machines=(RowSlice("all", everything),),
)
