"""Gradients of activations whose derivative depends on more than numeric attributes."""

from __future__ import annotations

from ... import Value
from ...ops.elementwise.activation import BiasSplitGelu, Gelu, QuickGelu, Relu, Sigmoid, Swish, Tanh
from ...ops.elementwise.elementwise_grad import ElementwiseGrad
from ..adjoint import Adjoint, Gradients
from ..derivative import substituted
from ..tape import Tape

BY_ERF = "0.5*(1 + erf(x*0.7071067811865476)) + x*0.3989422804014327*exp(-0.5*(x*x))"
"""Derivative of GELU: ``Φ(x) + x φ(x)`` with ``1/sqrt(2)`` and ``1/sqrt(2π)`` as numbers."""
_INNER = "tanh(0.7978845608028654*(x + 0.044715*x*x*x))"
BY_TANH = (
    f"0.5*(1 + {_INNER}) + 0.5*x*(1 - {_INNER}*{_INNER})*(0.7978845608028654 + 0.1070322243*x*x)"
)
"""Derivative of GELU by tanh, with ``sqrt(2/π)`` and ``3 · 0.044715 · sqrt(2/π)`` as numbers."""
QUICK = 1.702
"""Default ``alpha`` of QuickGelu: ``x * sigmoid(1.702 x)`` approximates GELU (arXiv:1606.08415)."""


def gelu(at: Adjoint) -> Gradients | None:
    """Return the gradients of operand and bias; the bias is added before the activation."""
    op = at.op
    assert isinstance(op, Gelu)
    # a subclass that multiplies one half of its operand with the GELU of the other half: no rule
    if isinstance(op, BiasSplitGelu):
        return None
    text = BY_TANH if op.approximate == "tanh" else BY_ERF
    x: Value = at.operand(0)
    if at.has(1):
        x = at.tape.add(x, at.operand(1))
    # one gradient for both, since their sum is what is activated
    gradient = at.tape.apply(ElementwiseGrad(op.mnemonic, text), at.dy, x)
    return {i: at.tape.sum_to(gradient, at.shape(i)) for i in (0, 1) if at.wants(i)}


def slope(name: str) -> str:
    """Return the derivative of an activation by its operand ``x``, as a formula in text.

    Names are those of epilogues of products and of experts, in any case, with or without "_".

    Raises:
        ValueError: the derivative of this activation is not defined.
    """
    match name.lower().replace("_", ""):
        case "silu" | "swish" | "swiglu":
            return substituted(Swish.derivative[0], {"alpha": 1.0})
        case "quickgelu":
            return substituted(QuickGelu.derivative[0], {"alpha": QUICK})
        case "gelu":
            return BY_ERF
        case "fastgelu":
            return BY_TANH
        case "relu":
            return "where(x > 0, 1, 0)"
        case "relu2":
            return "where(x > 0, 2*x, 0)"
        case "tanh":
            return "1 - tanh(x)*tanh(x)"
        case "none" | "identity" | "":
            return "1"
        case _:
            raise ValueError(f"no derivative of the activation {name[:32]!r}")


def activated(tape: Tape, v: Value, name: str) -> Value:
    """Return the result of an activation, written in standard operators.

    Raises:
        ValueError: the activation is not one that `slope` supports.
    """
    match name.lower().replace("_", ""):
        case "silu" | "swish" | "swiglu":
            return tape.mul(v, tape.apply(Sigmoid(), v))
        case "quickgelu":
            return tape.mul(v, tape.apply(Sigmoid(), tape.scaled(v, QUICK)))
        case "gelu":
            return tape.apply(Gelu(), v)
        case "fastgelu":
            return tape.apply(Gelu(approximate="tanh"), v)
        case "relu":
            return tape.apply(Relu(), v)
        case "relu2":
            positive = tape.apply(Relu(), v)
            return tape.mul(positive, positive)
        case "tanh":
            return tape.apply(Tanh(), v)
        case "none" | "identity" | "":
            return v
        case _:
            raise ValueError(f"no activation {name[:32]!r}")
