"""Adam with decoupled weight decay."""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer
from .adam import MOMENTS, STATES

OPTIMIZER = ListOptimizer(
    name="adamw",
    title="Adam with decoupled weight decay",
    states=STATES,
    foreach=(ListKernel("_foreach_mul_", "p", "p"), *MOMENTS),
    fused=ListKernel("_fused_adamw_", "pgmv", "pmv", alu=13, sfu=2),
    source="PyTorch, torch/optim/adamw.py; arXiv:1711.05101",
)
