"""Activations, counted by the operations of their definitions.

In derivatives, x is the only operand, a and b are the first and the second of two, y is the result.
"""

from __future__ import annotations

from ... import (
    Extents,
    Inputs,
    Item,
    Op,
    Types,
    count,
    first_dtype,
    frozen,
    has,
    shape_at,
    single,
    tensor,
)
from ...tensors.broadcast import broadcast
from . import exact
from .elementwise import Elementwise, pointwise


def _relu(x: Item) -> Item:
    return exact.maximum(x, 0.0 if isinstance(x, float) else 0)


# derivatives by the result y, where possible, save no operand for the backward pass
Relu = pointwise("relu", "Relu-14", "X", "``max(x, 0)``", _relu, derivative="where(y > 0, 1, 0)")
LeakyRelu = pointwise(
    "leaky_relu",
    "LeakyRelu-16",
    "X",
    "``x if x >= 0 else alpha * x``: a comparison and a product",
    alu=2,
    alpha=0.01,
    derivative="where(y > 0, 1, alpha)",
)


class PRelu(Elementwise):
    """``x if x >= 0 else slope * x``: a comparison and a product.

    Shapes:  X -> same shape; slope broadcasts to it.
    Work:    two operations per element.
    Traffic: X, slope and the result once.
    Source:  ONNX PRelu-16.
    """

    mnemonic = "prelu"
    onnx = "PRelu"
    operands = "X slope"
    alu_per_element = 2
    derivative = ("where(a > 0, 1, b)", "where(a > 0, 0, a)")
    # the shape of X: the slope broadcasts to it, but not X to the slope
    infer, typed_by = Op.infer, (0, 1)


ThresholdedRelu = pointwise(
    "thresholded_relu",
    "ThresholdedRelu-22",
    "X",
    "``x if x > alpha else 0``",
    alpha=1.0,
    derivative="where(x > alpha, 1, 0)",
)
Elu = pointwise(
    "elu",
    "Elu-22",
    "X",
    "``x if x >= 0 else alpha * (exp(x) - 1)``",
    alu=3,  # comparison, difference, product
    sfu=1,
    alpha=1.0,
    derivative="where(x > 0, 1, alpha*exp(x))",
)
Celu = pointwise(
    "celu",
    "Celu-12",
    "X",
    "``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``",
    alu=6,  # both comparisons, x / alpha as a product, difference, product, sum
    sfu=1,
    alpha=1.0,
    derivative="where(x > 0, 1, exp(x/alpha))",
)
Selu = pointwise(
    "selu",
    "Selu-22",
    "X",
    "``gamma * (x if x > 0 else alpha * (exp(x) - 1))``",
    alu=4,  # comparison, difference, two products
    sfu=1,
    alpha=1.67326319,
    gamma=1.05070102,
    derivative="gamma*where(x > 0, 1, alpha*exp(x))",
)
HardSigmoid = pointwise(
    "hard_sigmoid",
    "HardSigmoid-22",
    "X",
    "``max(0, min(1, alpha * x + beta))``",
    alu=4,  # product, sum, two comparisons
    alpha=0.2,
    beta=0.5,
    derivative="where(y > 0, where(y < 1, alpha, 0), 0)",
)
HardSwish = pointwise(
    "hard_swish",
    "HardSwish-22",
    "X",
    "``x * max(0, min(1, x / 6 + 0.5))``",
    alu=5,  # those of HardSigmoid and the product with x
    derivative="where(x > -3, where(x < 3, x/3 + 0.5, 1), 0)",
)
# negation and sum; exponential and quotient
Sigmoid = pointwise(
    "sigmoid", "Sigmoid-13", "X", "``1 / (1 + exp(-x))``", alu=2, sfu=2, derivative="y*(1 - y)"
)
Tanh = pointwise(
    "tanh",
    "Tanh-13",
    "input",
    "Hyperbolic tangent, one special function",
    alu=0,
    sfu=1,
    derivative="1 - y*y",
)
Softplus = pointwise(
    "softplus", "Softplus-22", "X", "``log(exp(x) + 1)``", sfu=2, derivative="sigmoid(x)"
)
Softsign = pointwise(
    "softsign",
    "Softsign-22",
    "input",
    "``x / (1 + |x|)``",
    alu=2,  # magnitude, sum
    sfu=1,  # quotient
    derivative="1/((1 + abs(x))*(1 + abs(x)))",
)
Mish = pointwise(
    "mish",
    "Mish-22; arXiv:1908.08681",
    "X",
    "``x * tanh(log(1 + exp(x)))``",
    alu=2,  # sum, product
    sfu=3,  # exponential, logarithm, tanh
    derivative="tanh(log(1 + exp(x))) + x*sigmoid(x)*(1 - tanh(log(1 + exp(x)))**2)",
)
Swish = pointwise(
    "swish",
    "Swish-24; arXiv:1710.05941",
    "X",
    "``x / (1 + exp(-alpha * x))``",
    alu=3,  # product with -alpha, sum, product
    sfu=2,  # exponential, quotient
    alpha=1.0,
    derivative="sigmoid(alpha*x)*(1 + alpha*x*(1 - sigmoid(alpha*x)))",
)
QuickGelu = pointwise(
    "quick_gelu",
    "com.microsoft::QuickGelu-1",
    "X",
    "``x * sigmoid(alpha * x)``",
    alu=3,  # those of Swish
    sfu=2,
    alpha=1.702,
    derivative="sigmoid(alpha*x)*(1 + alpha*x*(1 - sigmoid(alpha*x)))",
)


@frozen
class SwiGLU(Elementwise):
    """``swish(A) * B`` for A and B of one shape. Source: ONNX SwiGLU-28; arXiv:2002.05202."""

    mnemonic = "swiglu"
    onnx = "SwiGLU"
    operands = "A B"
    # those of Swish and the product with B
    alu_per_element, sfu_per_element = 4, 2
    derivative = (
        "b*sigmoid(alpha*a)*(1 + alpha*a*(1 - sigmoid(alpha*a)))",
        "a*sigmoid(alpha*a)",
    )
    alpha: float = 1.0

    def infer(self, ins: Inputs) -> Types:
        a, b = tensor(ins, 0), tensor(ins, 1)
        return single(first_dtype(ins, 0, 1), b.shape if a.shape is None else a.shape)


@frozen
class Shrink(Elementwise):
    """``x - bias`` above ``lambd``, ``x + bias`` below its negative, else 0.

    Shapes:  input -> same shape.
    Work:    two comparisons and an addition per element.
    Traffic: input and result once.
    Source:  ONNX Shrink-9.
    """

    mnemonic = "shrink"
    onnx = "Shrink"
    operands = "input"
    alu_per_element = 3
    derivative = ("where(abs(x) > lambd, 1, 0)",)
    bias: float = 0.0
    lambd: float = 0.5


ScaledTanh = pointwise(
    "scaled_tanh",
    "ScaledTanh, experimental before opset 8",
    "input",
    "``alpha * tanh(beta * x)``",
    alu=2,
    sfu=1,
    alpha=1.0,
    beta=1.0,
    derivative="alpha*beta*(1 - (y/alpha)*(y/alpha))",
)
Affine = pointwise(
    "affine",
    "Affine, experimental before opset 8",
    "X",
    "``alpha * x + beta``",
    alu=2,
    alpha=1.0,
    beta=0.0,
    derivative="alpha",
)


@frozen
class ParametricSoftplus(Elementwise):
    """``alpha * log(exp(beta * x) + 1)``. Source: ONNX experimental before opset 8."""

    mnemonic = "parametric_softplus"
    onnx = "ParametricSoftplus"
    operands = "X"
    # products with beta and alpha, a sum; exponential and logarithm
    alu_per_element, sfu_per_element = 3, 2
    derivative = ("alpha*beta*sigmoid(beta*x)",)
    alpha: float = 1.0
    beta: float = 1.0


GELU_ALU = 4
"""``0.5 * x * (1 + erf(x / sqrt(2)))``: three products and an addition around erf."""
GELU_TANH_ALU = 8
"""``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``: six products, two additions."""


@frozen
class Gelu(Elementwise):
    """Gaussian error linear unit, exact or by tanh.

    Shapes:  X -> same shape; a bias broadcasts to it.
    Work:    {sfu} (erf or tanh); {alu} with a = 4 by erf, 8 by tanh, plus one for a bias.
    Traffic: X, bias and the result once.
    Source:  ONNX Gelu-20; arXiv:1606.08415.
    """

    mnemonic = "gelu"
    onnx = "Gelu com.microsoft::Gelu"
    operands = "X bias?"
    formulas = {"alu": "a*f", "sfu": "f"}
    # the shape of X, as a bias broadcasts to it
    infer, typed_by = Op.infer, (0, 1)
    approximate: str = "none"

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        alu = GELU_TANH_ALU if self.approximate == "tanh" else GELU_ALU
        return {"f": count(outs[0]), "a": alu + has(ins, 1)}


@frozen
class FastGelu(Gelu):
    """Gelu by tanh with an optional bias. Source: ONNX Runtime contrib FastGelu-1."""

    mnemonic = "fast_gelu"
    onnx = "com.microsoft::FastGelu"
    operands = "X bias?"
    approximate: str = "tanh"


class BiasGelu(Gelu):
    """Gelu of ``A + B``. Source: ONNX Runtime contrib BiasGelu-1."""

    mnemonic = "bias_gelu"
    onnx = "com.microsoft::BiasGelu"
    operands = "A B"

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([shape_at(ins, 0), shape_at(ins, 1)])
        return single(first_dtype(ins, 0, 1), shape)


class BiasSplitGelu(Gelu):
    """``left * gelu(right)`` of the halves of ``X + bias`` along the last axis.

    Shapes:  X[..., 2*h], bias[2*h] -> Y[..., h].
    Work:    {sfu}; alu = 7*f: Gelu by erf, a product, and an addition for each half.
    Traffic: X, bias and the result once.
    Source:  ONNX Runtime contrib BiasSplitGelu-1.
    """

    mnemonic = "bias_split_gelu"
    onnx = "com.microsoft::BiasSplitGelu"
    operands = "X bias"

    def infer(self, ins: Inputs) -> Types:
        shape = shape_at(ins, 0)
        half = (*shape[:-1], shape[-1] // 2) if shape else None
        return single(first_dtype(ins, 0, 1), half)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"f": count(outs[0]), "a": GELU_ALU + 3}
