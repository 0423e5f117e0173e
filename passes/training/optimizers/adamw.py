"""Adam with decoupled weight decay."""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer
from .adam import STATES, moments

DECAY = ListKernel("_foreach_mul_", "p", "p")

OPTIMIZER = ListOptimizer(
    name="adamw",
    title="Adam with decoupled weight decay",
    states=STATES,
    foreach=(DECAY, *moments("t")),
    alone=(DECAY, *moments("d")),
    fused=ListKernel("_fused_adamw_", "pgmv", "pmv", alu=13, sfu=2),
    source="PyTorch, torch/optim/adamw.py; arXiv:1711.05101",
)
