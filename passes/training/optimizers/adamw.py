"""Adam with decoupled weight decay."""

from __future__ import annotations

from ..optimizer import Optimizer, Step
from .adam import MOMENTS, STATES

OPTIMIZER = Optimizer(
    name="adamw",
    title="Adam with decoupled weight decay",
    states=STATES,
    foreach=(Step("_foreach_mul_", "p", "p"), *MOMENTS),
    fused=Step("_fused_adamw_", "pgmv", "pmv", alu=13, sfu=2),
    source="PyTorch, torch/optim/adamw.py; arXiv:1711.05101",
)
