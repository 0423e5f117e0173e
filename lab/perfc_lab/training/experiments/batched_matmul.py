"""Absorbed products of latent attention, in recorded graphs."""

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


def eight_bits(rows: Rows) -> NDArray[np.bool_]:
    """Weights of 8 bits."""
    is_narrow = rows.dtype == "f8e4m3" or "weight_bits" in rows.columns
    return everything(rows) & is_narrow


def half(rows: Rows) -> NDArray[np.bool_]:
    """Weights of 16 bits."""
    return ~eight_bits(rows)


SHAPES = (
    RowSlice("all", everything, 0.10),
    RowSlice("16 bits", half, 0.10),
    RowSlice("8 bits", eight_bits, 0.10),
)
EXPERIMENT = OperatorExperiment(
    name="batched_matmul",
    title="Absorbed products of latent attention, in recorded graphs",
    class_name="batched_matmul",
    sources=("aic_mla_bmm",),
    group=("batch", "m"),
    recipe=Recipe(
        trees=80,
        depth=12,
        leaves=80,
        learning_rate=0.16,
        least_weight=4.0,
        columns=1.0,
        node_columns=0.5,
        subsample=0.5,
        beside=4,
        objective="reg:absoluteerror",
        cells=1_500,
        apart={"trees": 60, "learning_rate": 0.2, "leaves": 64},
    ),
    calibrating=Calibrating(turns=2),
    shapes=SHAPES,
    every_fold=True,
    whole=("batch",),
    parts=6,
    groups=SHAPES,
    machines=tuple(replace(part, goal=None) for part in SHAPES),
)
