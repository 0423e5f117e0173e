"""Activations, counted by the operations of their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..broadcast import broadcast
from ..dim import Dim
from ..graph import Inputs
from ..known import Item
from ..op import Types, count, has, tensor
from ..types import TensorType
from . import exact
from .elementwise import Elementwise, first_dtype


def _relu(x: Item) -> Item:
    return exact.maximum(x, 0.0 if isinstance(x, float) else 0)


class Relu(Elementwise):
    """``max(x, 0)``. Source: ONNX Relu-14."""

    mnemonic = "relu"
    onnx = ("Relu",)
    operands = ("X",)
    function = _relu


@dataclass(frozen=True)
class LeakyRelu(Elementwise):
    """``x if x >= 0 else alpha * x``: a comparison and a product. Source: ONNX LeakyRelu-16."""

    mnemonic = "leaky_relu"
    onnx = ("LeakyRelu",)
    operands = ("X",)
    alu_per_element = 2
    alpha: float = 0.01


class PRelu(Elementwise):
    """``x if x >= 0 else slope * x``: a comparison and a product.

    Shapes:  X -> same shape; slope broadcasts to it.
    Work:    two operations an element.
    Traffic: X, slope and the result once.
    Source:  ONNX PRelu-16.
    """

    mnemonic = "prelu"
    onnx = ("PRelu",)
    operands = ("X", "slope")
    alu_per_element = 2

    def infer(self, ins: Inputs) -> Types:
        return (TensorType(first_dtype(ins, 0, 1), tensor(ins, 0).shape),)


@dataclass(frozen=True)
class ThresholdedRelu(Elementwise):
    """``x if x > alpha else 0``. Source: ONNX ThresholdedRelu-22."""

    mnemonic = "thresholded_relu"
    onnx = ("ThresholdedRelu",)
    operands = ("X",)
    alpha: float = 1.0


@dataclass(frozen=True)
class Elu(Elementwise):
    """``x if x >= 0 else alpha * (exp(x) - 1)``. Source: ONNX Elu-22."""

    mnemonic = "elu"
    onnx = ("Elu",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 3, 1
    alpha: float = 1.0


@dataclass(frozen=True)
class Celu(Elementwise):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``. Source: ONNX Celu-12."""

    mnemonic = "celu"
    onnx = ("Celu",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 6, 1
    alpha: float = 1.0


@dataclass(frozen=True)
class Selu(Elementwise):
    """``gamma * (x if x > 0 else alpha * (exp(x) - 1))``. Source: ONNX Selu-22."""

    mnemonic = "selu"
    onnx = ("Selu",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 4, 1
    alpha: float = 1.67326319
    gamma: float = 1.05070102


@dataclass(frozen=True)
class HardSigmoid(Elementwise):
    """``max(0, min(1, alpha * x + beta))``. Source: ONNX HardSigmoid-22."""

    mnemonic = "hard_sigmoid"
    onnx = ("HardSigmoid",)
    operands = ("X",)
    alu_per_element = 4
    alpha: float = 0.2
    beta: float = 0.5


class HardSwish(Elementwise):
    """``x * max(0, min(1, x / 6 + 0.5))``. Source: ONNX HardSwish-22."""

    mnemonic = "hard_swish"
    onnx = ("HardSwish",)
    operands = ("X",)
    alu_per_element = 5


class Sigmoid(Elementwise):
    """``1 / (1 + exp(-x))``. Source: ONNX Sigmoid-13."""

    mnemonic = "sigmoid"
    onnx = ("Sigmoid",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 2, 2


class Tanh(Elementwise):
    """Hyperbolic tangent, one special function. Source: ONNX Tanh-13."""

    mnemonic = "tanh"
    onnx = ("Tanh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1


class Softplus(Elementwise):
    """``log(exp(x) + 1)``. Source: ONNX Softplus-22."""

    mnemonic = "softplus"
    onnx = ("Softplus",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 1, 2


class Softsign(Elementwise):
    """``x / (1 + |x|)``. Source: ONNX Softsign-22."""

    mnemonic = "softsign"
    onnx = ("Softsign",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 2, 1


class Mish(Elementwise):
    """``x * tanh(log(1 + exp(x)))``. Source: ONNX Mish-22; arXiv:1908.08681."""

    mnemonic = "mish"
    onnx = ("Mish",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 2, 3


@dataclass(frozen=True)
class Swish(Elementwise):
    """``x / (1 + exp(-alpha * x))``. Source: ONNX Swish-24; arXiv:1710.05941."""

    mnemonic = "swish"
    onnx = ("Swish",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 3, 2
    alpha: float = 1.0


@dataclass(frozen=True)
class QuickGelu(Elementwise):
    """``x * sigmoid(alpha * x)``. Source: ONNX Runtime contrib QuickGelu-1."""

    mnemonic = "quick_gelu"
    onnx = ("com.microsoft::QuickGelu",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 3, 2
    alpha: float = 1.702


@dataclass(frozen=True)
class SwiGLU(Elementwise):
    """``swish(A) * B``; A and B have one shape. Source: ONNX SwiGLU-28; arXiv:2002.05202."""

    mnemonic = "swiglu"
    onnx = ("SwiGLU",)
    operands = ("A", "B")
    alu_per_element, sfu_per_element = 4, 2
    alpha: float = 1.0

    def infer(self, ins: Inputs) -> Types:
        a, b = tensor(ins, 0), tensor(ins, 1)
        return (TensorType(first_dtype(ins, 0, 1), b.shape if a.shape is None else a.shape),)


@dataclass(frozen=True)
class Shrink(Elementwise):
    """``x - bias`` above ``lambd``, ``x + bias`` below its negative, else 0.

    Shapes:  input -> same shape.
    Work:    two comparisons and an addition an element.
    Traffic: input and result once.
    Source:  ONNX Shrink-9.
    """

    mnemonic = "shrink"
    onnx = ("Shrink",)
    operands = ("input",)
    alu_per_element = 3
    bias: float = 0.0
    lambd: float = 0.5


@dataclass(frozen=True)
class ScaledTanh(Elementwise):
    """``alpha * tanh(beta * x)``. Source: ONNX ScaledTanh, experimental before opset 8."""

    mnemonic = "scaled_tanh"
    onnx = ("ScaledTanh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 2, 1
    alpha: float = 1.0
    beta: float = 1.0


@dataclass(frozen=True)
class Affine(Elementwise):
    """``alpha * x + beta``. Source: ONNX Affine, experimental before opset 8."""

    mnemonic = "affine"
    onnx = ("Affine",)
    operands = ("X",)
    alu_per_element = 2
    alpha: float = 1.0
    beta: float = 0.0


@dataclass(frozen=True)
class ParametricSoftplus(Elementwise):
    """``alpha * log(exp(beta * x) + 1)``. Source: ONNX experimental before opset 8."""

    mnemonic = "parametric_softplus"
    onnx = ("ParametricSoftplus",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 3, 2
    alpha: float = 1.0
    beta: float = 1.0


GELU_ALU = 4
"""``0.5 * x * (1 + erf(x / sqrt(2)))``: three products and an addition around erf."""
GELU_TANH_ALU = 8
"""``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``: six products, two additions."""


@dataclass(frozen=True)
class Gelu(Elementwise):
    """Gaussian error linear unit, exact or by tanh.

    Shapes:  X -> same shape; a bias broadcasts to it.
    Work:    {sfu} (erf or tanh); {alu} with a = 4 by erf, 8 by tanh, plus one for a bias.
    Traffic: X, bias and the result once.
    Source:  ONNX Gelu-20; arXiv:1606.08415.
    """

    mnemonic = "gelu"
    onnx: ClassVar[tuple[str, ...]] = ("Gelu", "com.microsoft::Gelu")
    operands: ClassVar[tuple[str, ...]] = ("X", "bias?")
    formulas = {"alu": "a*f", "sfu": "f"}
    approximate: str = "none"

    def infer(self, ins: Inputs) -> Types:
        return (TensorType(first_dtype(ins, 0, 1), tensor(ins, 0).shape),)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        alu = GELU_TANH_ALU if self.approximate == "tanh" else GELU_ALU
        return {"f": count(outs[0]), "a": alu + has(ins, 1)}


@dataclass(frozen=True)
class FastGelu(Gelu):
    """Gelu by tanh with an optional bias. Source: ONNX Runtime contrib FastGelu-1."""

    mnemonic = "fast_gelu"
    onnx = ("com.microsoft::FastGelu",)
    operands = ("X", "bias?")
    approximate: str = "tanh"


class BiasGelu(Gelu):
    """Gelu of ``A + B``. Source: ONNX Runtime contrib BiasGelu-1."""

    mnemonic = "bias_gelu"
    onnx = ("com.microsoft::BiasGelu",)
    operands = ("A", "B")

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([tensor(ins, 0).shape, tensor(ins, 1).shape])
        return (TensorType(first_dtype(ins, 0, 1), shape),)


class BiasSplitGelu(Gelu):
    """``left * gelu(right)`` of the halves of ``X + bias`` along the last axis.

    Shapes:  X[..., 2*h], bias[2*h] -> Y[..., h].
    Work:    {sfu}; alu = 7*f: Gelu by erf, a product, and an addition for each half.
    Traffic: X, bias and the result once.
    Source:  ONNX Runtime contrib BiasSplitGelu-1.
    """

    mnemonic = "bias_split_gelu"
    onnx = ("com.microsoft::BiasSplitGelu",)
    operands = ("X", "bias")

    def infer(self, ins: Inputs) -> Types:
        shape = tensor(ins, 0).shape
        half = (*shape[:-1], shape[-1] // 2) if shape else None
        return (TensorType(first_dtype(ins, 0, 1), half),)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"f": count(outs[0]), "a": GELU_ALU + 3}
