"""Adam with decoupled weight decay: PyTorch's kernels as `ListKernel` describes them.

Letters are lists of tensors: ``p`` parameters, ``g`` gradients, ``m`` and ``v`` moments, ``t`` the
root of ``v``, ``d`` that root divided by its bias correction, where the quotient is a new tensor.
"""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer
from .adam import STATES, moments

DECAY = ListKernel("_foreach_mul_", "p", "p")
"""``p *= 1 - lr * weight_decay``: reads and writes the parameters."""

OPTIMIZER = ListOptimizer(
    name="adamw",
    title="Adam with decoupled weight decay",
    states=STATES,
    # kernels over all parameters divide the root in place
    foreach=(DECAY, *moments("t")),
    # kernels of one parameter at a time write the quotient to a new tensor
    alone=(DECAY, *moments("d")),
    # one operation more than Adam: the decay
    fused=ListKernel("_fused_adamw_", "pgmv", "pmv", alu=13, sfu=2),
    source="PyTorch, torch/optim/adamw.py; arXiv:1711.05101",
)
