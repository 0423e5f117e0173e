"""Rounding, exponentials and trigonometry: mostly one special function an element."""

from __future__ import annotations

import math

from . import exact
from .elementwise import Elementwise


class Ceil(Elementwise):
    """Smallest whole number not below. Source: ONNX Ceil-13."""

    mnemonic = "ceil"
    onnx = ("Ceil",)
    operands = ("X",)
    function = exact.ceil


class Floor(Elementwise):
    """Largest whole number not above. Source: ONNX Floor-13."""

    mnemonic = "floor"
    onnx = ("Floor",)
    operands = ("X",)
    function = exact.floor


class Round(Elementwise):
    """Nearest whole number, ties to even. Source: ONNX Round-22."""

    mnemonic = "round"
    onnx = ("Round",)
    operands = ("X",)
    function = exact.round_half_even


class Exp(Elementwise):
    """Exponential. Source: ONNX Exp-13."""

    mnemonic = "exp"
    onnx = ("Exp",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.exp


class Log(Elementwise):
    """Natural logarithm. Source: ONNX Log-13."""

    mnemonic = "log"
    onnx = ("Log",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.log


class Erf(Elementwise):
    """Error function. Source: ONNX Erf-13."""

    mnemonic = "erf"
    onnx = ("Erf",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.erf


class Sin(Elementwise):
    """Sine. Source: ONNX Sin-22."""

    mnemonic = "sin"
    onnx = ("Sin",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.sin


class Cos(Elementwise):
    """Cosine. Source: ONNX Cos-22."""

    mnemonic = "cos"
    onnx = ("Cos",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.cos


class Tan(Elementwise):
    """Tangent. Source: ONNX Tan-22."""

    mnemonic = "tan"
    onnx = ("Tan",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.tan


class Asin(Elementwise):
    """Inverse sine. Source: ONNX Asin-22."""

    mnemonic = "asin"
    onnx = ("Asin",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.asin


class Acos(Elementwise):
    """Inverse cosine. Source: ONNX Acos-22."""

    mnemonic = "acos"
    onnx = ("Acos",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.acos


class Atan(Elementwise):
    """Inverse tangent. Source: ONNX Atan-22."""

    mnemonic = "atan"
    onnx = ("Atan",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.atan


class Sinh(Elementwise):
    """Hyperbolic sine. Source: ONNX Sinh-22."""

    mnemonic = "sinh"
    onnx = ("Sinh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.sinh


class Cosh(Elementwise):
    """Hyperbolic cosine. Source: ONNX Cosh-22."""

    mnemonic = "cosh"
    onnx = ("Cosh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.cosh


class Asinh(Elementwise):
    """Inverse hyperbolic sine. Source: ONNX Asinh-22."""

    mnemonic = "asinh"
    onnx = ("Asinh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.asinh


class Acosh(Elementwise):
    """Inverse hyperbolic cosine. Source: ONNX Acosh-22."""

    mnemonic = "acosh"
    onnx = ("Acosh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.acosh


class Atanh(Elementwise):
    """Inverse hyperbolic tangent. Source: ONNX Atanh-22."""

    mnemonic = "atanh"
    onnx = ("Atanh",)
    operands = ("input",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.atanh
