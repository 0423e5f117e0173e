"""Activations whose derivative depends on more than numbers."""

from __future__ import annotations

from ..graph import Value
from ..ops.activation import BiasSplitGelu, Gelu
from ..ops.elementwise_grad import ElementwiseGrad
from .adjoint import Adjoint, Gradients

BY_ERF = "0.5*(1 + erf(x*0.7071067811865476)) + x*0.3989422804014327*exp(-0.5*(x*x))"
_INNER = "tanh(0.7978845608028654*(x + 0.044715*x*x*x))"
BY_TANH = (
    f"0.5*(1 + {_INNER}) + 0.5*x*(1 - {_INNER}*{_INNER})*(0.7978845608028654 + 0.1070322243*x*x)"
)


def gelu(at: Adjoint) -> Gradients | None:
    """From the operand; a bias was added to it before."""
    op = at.op
    assert isinstance(op, Gelu)
    if isinstance(op, BiasSplitGelu):
        return None
    text = BY_TANH if op.approximate == "tanh" else BY_ERF
    x: Value = at.operand(0)
    if at.has(1):
        x = at.tape.add(x, at.operand(1))
    found = at.tape.apply(ElementwiseGrad(op.mnemonic, text), at.dy, x)
    return {i: at.tape.sum_to(found, at.shape(i)) for i in (0, 1) if at.wants(i)}
