"""Lower layers as modules of transformers write them: operators that eager PyTorch runs.

Engines run a normalisation, a gate or an activation as one kernel, which reads its operand again.
Autograd stores the operands of each operator of such a module, so that a training step needs more
memory. A compiler that merges them starts from the same operators.

Source: transformers 5, `LlamaRMSNorm`, `GemmaRMSNorm`, `Olmo2RMSNorm`, `LlamaMLP`, `LlamaAttention`
and `activations.NewGELUActivation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir import DType, Value
from perfc.ir.ops import Add, Cast, Mul, Pow, Reciprocal, ReduceMean, Sigmoid, Sqrt, Tanh

if TYPE_CHECKING:
    from .builder import Builder


ADD, MUL = Add(), Mul()
EPSILON = 1e-6
"""Addend below the root of a norm; its value changes no count."""
WIDE = Cast(to=DType.F32)
SCALED_IN_F32 = ("gemma", "olmo2", "olmo3", "gpt_oss", "flex_olmo")
"""Beginnings of the names of families whose norm multiplies by its scale in f32, and narrows the
result afterwards."""
READ_NARROW = ("t5", "mt5", "umt5")
"""Families whose norm multiplies the operand in 16 bits, so that autograd stores the operand in 16
bits as well."""
MERGED = ("gpt2", "gpt_neox", "gpt_bigcode", "bloom", "falcon", "mpt", "phi3", "codegen")
"""Beginnings of the names of families with one product for queries, keys and values."""


def rms_norm(b: Builder, x: Value, scale: Value | None, name: str) -> Value:
    """Return ``x`` over the root of its mean square, computed in f32, times a scale.

    Without `Builder.code` only the operands that autograd stores count: the addition of a small
    number to the mean, which stores none, is left out.
    """
    is_narrow = b.half is not DType.F32
    wide = b.node(WIDE, (x,), f"{name}.f32") if is_narrow else x
    # transformers calls `pow`; a product stores the same bytes for the backward pass
    op, operand = (MUL, wide) if b.code is None else (Pow(), b.number(2.0, DType.F32))
    square = b.node(op, (wide, operand), f"{name}.square")
    mean = b.node(ReduceMean(keepdims=1), (square, b.numbers((-1,))), f"{name}.mean")
    if b.code is not None:
        mean = b.node(ADD, (mean, b.number(EPSILON, DType.F32)), f"{name}.raised")
    root = b.node(Sqrt(), (mean,), f"{name}.root")
    inverse = b.node(Reciprocal(), (root,), f"{name}.inverse")
    # families scale and narrow in one of three orders, of which autograd stores different values
    if scale is not None and b.family.startswith(SCALED_IN_F32):
        normed = b.node(MUL, (wide, inverse), f"{name}.normed")
        factor = b.node(WIDE, (scale,), f"{name}.scale") if is_narrow else scale
        scaled = b.node(MUL, (normed, factor), f"{name}.scaled" if is_narrow else name)
        return b.node(Cast(to=b.half), (scaled,), name) if is_narrow else scaled
    if is_narrow and b.family in READ_NARROW:
        inverse = b.node(Cast(to=b.half), (inverse,), f"{name}.narrow")
        narrow = b.node(MUL, (x, inverse), f"{name}.normed")
    else:
        normed = b.node(MUL, (wide, inverse), f"{name}.normed")
        narrow = b.node(Cast(to=b.half), (normed,), f"{name}.narrow") if is_narrow else normed
    return narrow if scale is None else b.node(MUL, (narrow, scale), name)


def capped(b: Builder, scores: Value, name: str) -> Value:
    """Return scores between minus and plus 30: ``30 * tanh(scores / 30)``, operator by operator.

    Gemma 2 has 30; another limit costs the same.
    """
    small = b.node(MUL, (scores, b.number(1 / 30)), f"{name}.small")
    return b.node(MUL, (b.node(Tanh(), (small,), f"{name}.tanh"), b.number(30.0)), name)


def gelu_by_tanh(b: Builder, x: Value, name: str) -> Value:
    """Return ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``, operator by operator."""
    half = b.node(MUL, (x, b.number(0.5)), f"{name}.half")
    cube = b.node(Pow(), (x, b.number(3.0)), f"{name}.cube")
    small = b.node(MUL, (cube, b.number(0.044715)), f"{name}.small")
    inner = b.node(ADD, (x, small), f"{name}.inner")
    scaled = b.node(MUL, (inner, b.number(0.7978845608)), f"{name}.scaled")  # sqrt(2 / pi)
    tanh = b.node(Tanh(), (scaled,), f"{name}.tanh")
    return b.node(MUL, (half, b.node(ADD, (tanh, b.number(1.0)), f"{name}.plus")), name)


def quick_gelu(b: Builder, x: Value, name: str) -> Value:
    """Return ``x * sigmoid(1.702 * x)``, operator by operator."""
    scaled = b.node(MUL, (x, b.number(1.702)), f"{name}.scaled")
    return b.node(MUL, (x, b.node(Sigmoid(), (scaled,), f"{name}.sigmoid")), name)
