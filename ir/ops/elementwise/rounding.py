"""Rounding, exponentials and trigonometry: mostly one special function per element."""

from __future__ import annotations

import math
from functools import partial

from . import exact
from .elementwise import pointwise

# "" stands for no derivative: the slope of a step is 0, so no gradient flows
Ceil = pointwise(
    "ceil", "Ceil-13", "X", "Smallest whole number not below", exact.ceil, derivative=("",)
)
Floor = pointwise(
    "floor", "Floor-13", "X", "Largest whole number not above", exact.floor, derivative=("",)
)
Round = pointwise(
    "round",
    "Round-22",
    "X",
    "Nearest whole number, ties to even",
    exact.round_half_even,
    derivative=("",),
)

# derivatives are written in the result y where that saves a special function
special = partial(pointwise, alu=0, sfu=1)
"""Define a row of an operator with one special function per element."""

Exp = special("exp", "Exp-13", "input", "Exponential", math.exp, derivative="y")
Log = special("log", "Log-13", "input", "Natural logarithm", math.log, derivative="1/x")
Erf = special(
    "erf",
    "Erf-13",
    "input",
    "Error function",
    math.erf,
    # 2 / sqrt(pi)
    derivative="1.1283791670955126*exp(-(x*x))",
)
Sin = special("sin", "Sin-22", "input", "Sine", math.sin, derivative="cos(x)")
Cos = special("cos", "Cos-22", "input", "Cosine", math.cos, derivative="-sin(x)")
Tan = special("tan", "Tan-22", "input", "Tangent", math.tan, derivative="1 + y*y")
Asin = special("asin", "Asin-22", "input", "Inverse sine", math.asin, derivative="1/sqrt(1 - x*x)")
Acos = special(
    "acos", "Acos-22", "input", "Inverse cosine", math.acos, derivative="-1/sqrt(1 - x*x)"
)
Atan = special("atan", "Atan-22", "input", "Inverse tangent", math.atan, derivative="1/(1 + x*x)")
Sinh = special("sinh", "Sinh-22", "input", "Hyperbolic sine", math.sinh, derivative="cosh(x)")
Cosh = special("cosh", "Cosh-22", "input", "Hyperbolic cosine", math.cosh, derivative="sinh(x)")
Asinh = special(
    "asinh",
    "Asinh-22",
    "input",
    "Inverse hyperbolic sine",
    math.asinh,
    derivative="1/sqrt(1 + x*x)",
)
Acosh = special(
    "acosh",
    "Acosh-22",
    "input",
    "Inverse hyperbolic cosine",
    math.acosh,
    derivative="1/sqrt(x*x - 1)",
)
Atanh = special(
    "atanh", "Atanh-22", "input", "Inverse hyperbolic tangent", math.atanh, derivative="1/(1 - x*x)"
)
