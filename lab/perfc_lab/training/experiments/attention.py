"""Fused attention: prompts with encoders, and single tokens over a cache."""

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

GROUP = ("heads", "kv_heads", "head_dim")
RECIPE = Recipe(
    trees=150,
    depth=10,
    learning_rate=0.15,
    columns=1.0,
    node_columns=0.5,
    subsample=0.5,
    beside=3,
    max_rows=400_000,
    apart={"max_rows": 60_000, "trees": 100, "learning_rate": 0.2, "depth": 8},
)
CALIBRATING = Calibrating(turns=3)


def causal(rows: Rows) -> NDArray[np.bool_]:
    """Prompts of decoders."""
    if "causal" not in rows.columns:
        return everything(rows)
    seen: NDArray[np.bool_] = rows.columns["causal"] > 0
    return seen


def encoder(rows: Rows) -> NDArray[np.bool_]:
    """Sequences that see all of themselves."""
    return ~causal(rows)


def narrow(rows: Rows) -> NDArray[np.bool_]:
    """Prompts of decoders, computed in eight bits."""
    return causal(rows) & (rows.dtype == "f8e4m3")


def narrow_cache(rows: Rows) -> NDArray[np.bool_]:
    """Caches of eight bits; a table that does not say has none."""
    seen: NDArray[np.bool_] = everything(rows) & (rows.columns.get("cache_bits", 0) == 8)
    return seen


PREFILL = OperatorExperiment(
    name="attention_prefill",
    title="Attention of prompts and encoders, most in recorded graphs",
    class_name="attention_prefill",
    sources=("aic_attention", "llmservingsim_attention"),
    group=GROUP,
    recipe=RECIPE,
    calibrating=CALIBRATING,
    shapes=(
        RowSlice("prompts", causal, 0.10),
        RowSlice("prompts, fp8", narrow, 0.10),
        RowSlice("encoders", encoder, 0.10),
    ),
    machines=(RowSlice("prompts", causal), RowSlice("encoders", encoder)),
)
DECODE = OperatorExperiment(
    name="attention_decode",
    title="Attention of single tokens over a cache, most in recorded graphs",
    class_name="attention_decode",
    sources=("aic_attention", "llmservingsim_attention"),
    group=GROUP,
    recipe=RECIPE,
    calibrating=CALIBRATING,
    shapes=(RowSlice("all", everything, 0.10), RowSlice("cache of 8 bits", narrow_cache, 0.10)),
    machines=(RowSlice("all", everything),),
)
