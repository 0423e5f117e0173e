"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from ..optimizer import Optimizer, Step

OPTIMIZER = Optimizer(
    name="momentum",
    title="stochastic gradient descent with momentum",
    states={"m": "momentum_buffer"},
    foreach=(
        Step("_foreach_mul_", "m", "m"),
        Step("_foreach_add_", "mg", "m"),
        Step("_foreach_add_", "pm", "p", alu=2),
    ),
    fused=Step("_fused_sgd_", "pgm", "pm", alu=4),
    source="PyTorch, torch/optim/sgd.py: momentum, no weight decay",
)
