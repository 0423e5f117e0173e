"""Feed-forward layers: dense ones, and experts of which a router chooses some."""

from __future__ import annotations

from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.activation import FastGelu, Gelu, QuickGelu
from perfc.ir.ops.elementwise import Add, Mul
from perfc.ir.ops.gated import GatedActivation
from perfc.ir.ops.moe import MoE
from perfc.ir.ops.view import Reshape

from ..model import Activation, Experts, Mlp
from ..precision import WeightFormat
from .builder import Builder

ADD, MUL, RESHAPE = Add(), Mul(), Reshape()


def mlp(b: Builder, x: Value, m: Mlp, name: str, hidden: int) -> Value:
    """``x`` [tokens, hidden] after both products, summed over ranks."""
    return b.all_reduce(dense(b, x, m, name, hidden), f"{name}.sum")


def dense(b: Builder, x: Value, m: Mlp, name: str, hidden: int) -> Value:
    """One rank's part of an MLP's result."""
    inner = b.share(m.inner, "inner columns")
    if m.is_gated:
        merged = b.product(x, (hidden, 2 * inner), f"{name}.gate_up", is_biased=m.is_biased)
        op = GatedActivation(activation=m.activation.value)
        between = b.node(op, (merged,), f"{name}.gated")
    else:
        first = b.product(x, (hidden, inner), f"{name}.up", is_biased=m.is_biased)
        between = activated(b, first, m.activation, f"{name}.activation")
    return b.product(between, (inner, hidden), f"{name}.down", is_biased=m.is_biased)


def activated(b: Builder, x: Value, activation: Activation, name: str) -> Value:
    """``x`` after an activation."""
    if activation is Activation.SQUARED_RELU:
        positive = b.node(_operator(Activation.RELU), (x,), f"{name}.relu")
        return b.node(MUL, (positive, positive), name)
    return b.node(_operator(activation), (x,), name)


def _operator(activation: Activation) -> Op:
    from perfc.ir.ops.activation import Relu, Swish, Tanh

    match activation:
        case Activation.RELU | Activation.SQUARED_RELU:
            return Relu()
        case Activation.GELU:
            return Gelu()
        case Activation.FAST_GELU:
            return FastGelu()
        case Activation.QUICK_GELU:
            return QuickGelu()
        case Activation.SILU:
            return Swish()
        case Activation.TANH:
            return Tanh()
