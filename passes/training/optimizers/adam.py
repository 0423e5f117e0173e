"""Adam: PyTorch's kernels over both moments, as `ListKernel` describes them."""

from __future__ import annotations

from ..optimizer import ListKernel, ListOptimizer

STATES = {"m": "exp_avg", "v": "exp_avg_sq"}
"""First and second moments, by letter, with PyTorch's names."""


def moments(root: str) -> tuple[ListKernel, ...]:
    """Return kernels of both moments, their root and the step; kernels of scalars are left out.

    Letters: ``p`` parameters, ``g`` gradients, ``m`` and ``v`` moments, ``t`` the root of ``v``.

    Args:
        root: letter of the root divided by its bias correction; ``t`` if it is divided in place.
    """
    return (
        ListKernel("_foreach_lerp_", "mg", "m", alu=3),
        ListKernel("_foreach_mul_", "v", "v"),
        ListKernel("_foreach_addcmul_", "vgg", "v", alu=3),
        ListKernel("_foreach_sqrt", "v", "t", alu=0, sfu=1),
        ListKernel("_foreach_div_", "t", root, alu=0, sfu=1),
        ListKernel("_foreach_add_", root, root),
        ListKernel("_foreach_addcdiv_", f"pm{root}", "p", alu=2, sfu=1),
    )


OPTIMIZER = ListOptimizer(
    name="adam",
    title="Adam",
    states=STATES,
    foreach=moments("t"),
    alone=moments("d"),
    # the numbers of operations set no time: memory bounds a kernel of 28 bytes an element
    fused=ListKernel("_fused_adam_", "pgmv", "pmv", alu=12, sfu=2),
    source="PyTorch, torch/optim/adam.py; arXiv:1412.6980",
)
