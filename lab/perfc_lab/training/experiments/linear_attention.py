"""Gated delta nets and Mamba-2's scan, in recorded graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Rows

from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tokens(rows: Rows) -> NDArray[np.bool_]:
    """Steps of decoding."""
    which: NDArray[np.bool_] = everything(rows) & (rows.columns["query_len"] == 1)
    return which


def prompts(rows: Rows) -> NDArray[np.bool_]:
    """Of several tokens a sequence."""
    return ~tokens(rows)


SHAPES = (
    RowSlice("all", everything),
    RowSlice("prompts", prompts, 0.10),
    RowSlice("single tokens", tokens, 0.10),
)
EXPERIMENT = OperatorExperiment(
    name="linear_attention",
    title="Gated delta nets and Mamba-2, in recorded graphs",
    class_name="linear_attention",
    sources=("aic_state_space",),
    group=("heads", "key_heads"),
    recipe=Recipe(
        trees=120,
        depth=12,
        leaves=128,
        learning_rate=0.15,
        least_weight=6.0,
        columns=1.0,
        node_columns=0.5,
        subsample=0.5,
        beside=4,
        objective="reg:absoluteerror",
        cells=2_000,
        apart={"max_rows": 25_000, "trees": 70, "learning_rate": 0.2, "leaves": 96},
    ),
    calibrating=Calibrating(turns=2),
    shapes=SHAPES,
    whole=("model",),
    groups=SHAPES,
    machines=tuple(replace(part, goal=None) for part in SHAPES),
)
