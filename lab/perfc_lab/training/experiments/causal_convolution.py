"""Causal convolutions of Mamba-2 and gated delta nets, in recorded graphs."""

from __future__ import annotations

from dataclasses import replace

from ..calibration.calibrate import Calibrating
from ..fit import Recipe
from . import OperatorExperiment
from .linear_attention import SHAPES

EXPERIMENT = OperatorExperiment(
    name="causal_convolution",
    title="Causal convolutions before states, in recorded graphs",
    class_name="causal_convolution",
    sources=("aic_state_space",),
    group=("channels",),
    recipe=Recipe(
        trees=100,
        depth=12,
        leaves=60,
        learning_rate=0.15,
        least_weight=6.0,
        columns=1.0,
        node_columns=0.5,
        subsample=0.5,
        beside=4,
        objective="reg:absoluteerror",
        cells=2_000,
        apart={"max_rows": 25_000, "trees": 60, "learning_rate": 0.2, "leaves": 50},
    ),
    calibrating=Calibrating(turns=2),
    shapes=SHAPES,
    whole=("model",),
    groups=SHAPES,
    machines=tuple(replace(part, goal=None) for part in SHAPES),
)
