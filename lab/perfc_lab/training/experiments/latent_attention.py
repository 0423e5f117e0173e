"""Latent attention: prompts over expanded keys, and single tokens over latents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Protocol, Rows

from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray


def replayed(rows: Rows) -> NDArray[np.bool_]:
    """In recorded graphs."""
    return everything(rows) & (rows.protocol is Protocol.GRAPH)


def prompts(rows: Rows) -> NDArray[np.bool_]:
    """Of many tokens, in recorded graphs."""
    which: NDArray[np.bool_] = replayed(rows) & (rows.columns["head_dim"] < 576)
    return which


def tokens(rows: Rows) -> NDArray[np.bool_]:
    """Steps of decoding, in recorded graphs."""
    return replayed(rows) & ~prompts(rows)


def called(rows: Rows) -> NDArray[np.bool_]:
    """Timed call by call."""
    return ~replayed(rows)


SHAPES = (
    RowSlice("prompts", prompts, 0.10),
    RowSlice("single tokens", tokens, 0.10),
    RowSlice("called one by one", called),
)
EXPERIMENT = OperatorExperiment(
    name="latent_attention",
    title="Latent attention (MLA), most in recorded graphs",
    class_name="latent_attention",
    sources=("aic_mla",),
    group=("batch", "query_len", "kv_len"),
    recipe=Recipe(
        trees=130,
        depth=12,
        leaves=160,
        learning_rate=0.16,
        least_weight=8.0,
        columns=1.0,
        node_columns=0.5,
        subsample=0.5,
        beside=4,
        objective="reg:absoluteerror",
        max_rows=60_000,
        cells=3_000,
        apart={"max_rows": 30_000, "trees": 120, "learning_rate": 0.2, "leaves": 150},
    ),
    calibrating=Calibrating(turns=2),
    shapes=SHAPES,
    tested_rows=12_000,
    whole=("heads",),
    parts=4,
    groups=SHAPES,
    machines=tuple(replace(part, goal=None) for part in SHAPES),
)
