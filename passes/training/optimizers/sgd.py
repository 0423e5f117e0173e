"""Stochastic gradient descent without momentum."""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer

# letters of `ListKernel`: ``p`` parameters, ``g`` gradients
OPTIMIZER = ListOptimizer(
    name="sgd",
    title="stochastic gradient descent",
    foreach=(ListKernel("_foreach_add_", "pg", "p", alu=2),),
    fused=ListKernel("_fused_sgd_", "pg", "p", alu=2),
    source="PyTorch, torch/optim/sgd.py: no momentum, no weight decay",
)
