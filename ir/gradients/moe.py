"""Mixtures of experts."""

from __future__ import annotations

from dataclasses import replace

from ..graph import Value
from ..ops.moe import MoE
from ..ops.moe_grad import MoEInputGrad, MoEWeightGrad
from .adjoint import Adjoint, Gradients

KEPT = 9
"""Position of what the forward pass keeps of its rows, among the operands of a gradient."""
WEIGHTS = 2
"""Position of the first operand that is an expert's."""


def moe(at: Adjoint) -> Gradients | None:
    """Two kernels, for what lies before and for the weights, as of every other product.

    Training keeps experts equally busy by a loss of its own, so that its tokens are not skewed.

    Source: arXiv:2101.03961, section 2.2.
    """
    op = at.op
    if not isinstance(op, MoE) or not op.is_exactly(MoE):
        return None
    op = replace(op, skew=0.0)
    at.node = replace(at.node, op=op)
    ins = (at.dy, *at.node.inputs)
    found: dict[int, Value | None] = {}
    if at.wants(0) or at.wants(1):
        before = at.tape.several(MoEInputGrad.of(op), ins, 2 if at.wants(1) else 1)
        found |= dict(enumerate(before))
    wanted = [i for i in range(WEIGHTS, len(at.node.inputs)) if at.wants(i)]
    if wanted:
        count = max(wanted) - WEIGHTS + 1
        if op.keeps_rows:
            ins = (*ins, *[None] * (KEPT - len(ins)), at.result(1))
        made = at.tape.several(MoEWeightGrad.of(op), ins, count)
        found |= {i: made[i - WEIGHTS] for i in wanted}
    return found
