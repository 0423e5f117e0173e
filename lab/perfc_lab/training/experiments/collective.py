"""Collectives within one node, back to back and one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Protocol, Rows

from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray


def replayed(rows: Rows) -> NDArray[np.bool_]:
    """Back to back, so that the host is not seen."""
    return everything(rows) & (rows.protocol is Protocol.GRAPH)


SLICES = (RowSlice("back to back", replayed), RowSlice("all", everything))
EXPERIMENT = OperatorExperiment(
    name="collective",
    title="Collectives within one node",
    class_name="collective",
    sources=("aic_comm",),
    group=("operation", "ranks", "nbytes"),
    recipe=Recipe(trees=300, depth=6, least_weight=2.0, apart={}),
    shapes=SLICES,
    machines=SLICES,
)
