"""Gradients of mixtures of experts."""

from __future__ import annotations

from dataclasses import replace

from ... import Value
from ...op import exactly, with_attributes
from ...ops.contraction.moe import MoE
from ...ops.contraction.moe_grad import MoEInputGrad, MoEWeightGrad
from ..adjoint import Adjoint, Gradients

SAVED = 9
"""Position, among the operands of the gradient, of the rows that the forward pass saves
(``MoE.keeps_rows``): dY is operand 0, and the forward pass has eight operands."""
WEIGHTS = 2
"""Position of the first operand that is a weight of experts."""


def moe(at: Adjoint) -> Gradients | None:
    """Return gradients from two kernels, one for activations and one for weights.

    Gradients of other matrix products are two kernels as well. Training balances experts with an
    auxiliary loss, so that the numbers of tokens of experts are not skewed.

    Source: arXiv:2101.03961, section 2.2.
    """
    op = at.op
    if not exactly(op, MoE):
        return None
    # the forward node changes too, as both passes have the same numbers of tokens
    op = replace(op, skew=0.0)
    at.node = replace(at.node, op=op)
    ins = (at.dy, *at.node.inputs[: SAVED - 1])
    gradients: dict[int, Value | None] = {}
    if at.wants(0) or at.wants(1):  # input, and probabilities of the router
        activation_gradients = at.tape.several(
            with_attributes(MoEInputGrad, op), ins, 2 if at.wants(1) else 1
        )
        gradients |= dict(enumerate(activation_gradients))
    wanted = [i for i in range(WEIGHTS, len(ins) - 1) if at.wants(i)]
    if wanted:
        count = max(wanted) - WEIGHTS + 1
        if op.keeps_rows:
            # operands that the node leaves out at its end become None
            ins = (*ins, *[None] * (SAVED - len(ins)), at.result(1))
        weight_gradients = at.tape.several(with_attributes(MoEWeightGrad, op), ins, count)
        gradients |= {i: weight_gradients[i - WEIGHTS] for i in wanted}
    return gradients
