"""Adam."""

from __future__ import annotations

from ..optimizer import Optimizer, Step

STATES = {"m": "exp_avg", "v": "exp_avg_sq"}
MOMENTS = (
    Step("_foreach_lerp_", "mg", "m", alu=3),
    Step("_foreach_mul_", "v", "v"),
    Step("_foreach_addcmul_", "vg", "v", alu=3),
    Step("_foreach_sqrt", "v", "t", alu=0, sfu=1),
    Step("_foreach_div_", "t", "t", alu=0, sfu=1),
    Step("_foreach_add_", "t", "t"),
    Step("_foreach_addcdiv_", "pmt", "p", alu=2, sfu=1),
)
"""Both means, the root and the step; one scalar of each tensor is left out."""

OPTIMIZER = Optimizer(
    name="adam",
    title="Adam",
    states=STATES,
    foreach=MOMENTS,
    fused=Step("_fused_adam_", "pgmv", "pmv", alu=12, sfu=2),
    source="PyTorch, torch/optim/adam.py; arXiv:1412.6980",
)
