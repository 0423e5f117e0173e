"""Norms, activations, rotations and look-ups of serving frameworks, under profilers."""

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


def long(rows: Rows) -> NDArray[np.bool_]:
    """Of which a microsecond, the older table's unit, is less than a twentieth."""
    which: NDArray[np.bool_] = everything(rows) & (rows.time_s >= 20e-6)
    return which


SHAPES = (RowSlice("all", everything), RowSlice("20 µs and more", long, 0.10))
MACHINES = (RowSlice("all", everything), RowSlice("20 µs and more", long))
EXPERIMENT = OperatorExperiment(
    name="tokenwise",
    title="Norms, activations, rotations, look-ups of serving frameworks, under profilers",
    class_name="tokenwise",
    sources=("vidur_mlp", "llmservingsim_layers"),
    group=("tokens",),
    recipe=Recipe(
        trees=80,
        depth=10,
        leaves=40,
        learning_rate=0.16,
        least_weight=8.0,
        columns=1.0,
        balance=1.0,
        objective="reg:absoluteerror",
        cells=1_500,
        apart={"max_rows": 25_000, "trees": 50, "learning_rate": 0.2, "leaves": 30},
    ),
    calibrating=Calibrating(turns=2),
    shapes=SHAPES,
    whole=("model",),
    parts=5,
    groups=SHAPES,
    machines=MACHINES,
)
