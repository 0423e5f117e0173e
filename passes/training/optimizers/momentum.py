"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer

# letters of `ListKernel`: ``p`` parameters, ``g`` gradients, ``m`` momentum
OPTIMIZER = ListOptimizer(
    name="momentum",
    title="stochastic gradient descent with momentum",
    states={"m": "momentum_buffer"},
    foreach=(
        ListKernel("_foreach_mul_", "m", "m"),
        ListKernel("_foreach_add_", "mg", "m"),
        ListKernel("_foreach_add_", "pm", "p", alu=2),
    ),
    fused=ListKernel("_fused_sgd_", "pgm", "pm", alu=4),
    source="PyTorch, torch/optim/sgd.py: momentum, no weight decay",
)
