"""Stochastic gradient descent without momentum."""

from __future__ import annotations

from ..optimizer import Optimizer, Step

OPTIMIZER = Optimizer(
    name="sgd",
    title="stochastic gradient descent",
    foreach=(Step("_foreach_add_", "pg", "p", alu=2),),
    fused=Step("_fused_sgd_", "pg", "p", alu=2),
    source="PyTorch, torch/optim/sgd.py: no momentum, no weight decay",
)
