"""Rounding, exponentials and trigonometry: mostly one special function an element."""

from __future__ import annotations

import math
from functools import partial

from . import exact
from .elementwise import pointwise

Ceil = pointwise("ceil", "Ceil-13", "X", "Smallest whole number not below", exact.ceil)
Floor = pointwise("floor", "Floor-13", "X", "Largest whole number not above", exact.floor)
Round = pointwise(
    "round", "Round-22", "X", "Nearest whole number, ties to even", exact.round_half_even
)

special = partial(pointwise, alu=0, sfu=1)
"""A row that is one special function an element."""

Exp = special("exp", "Exp-13", "input", "Exponential", math.exp)
Log = special("log", "Log-13", "input", "Natural logarithm", math.log)
Erf = special("erf", "Erf-13", "input", "Error function", math.erf)
Sin = special("sin", "Sin-22", "input", "Sine", math.sin)
Cos = special("cos", "Cos-22", "input", "Cosine", math.cos)
Tan = special("tan", "Tan-22", "input", "Tangent", math.tan)
Asin = special("asin", "Asin-22", "input", "Inverse sine", math.asin)
Acos = special("acos", "Acos-22", "input", "Inverse cosine", math.acos)
Atan = special("atan", "Atan-22", "input", "Inverse tangent", math.atan)
Sinh = special("sinh", "Sinh-22", "input", "Hyperbolic sine", math.sinh)
Cosh = special("cosh", "Cosh-22", "input", "Hyperbolic cosine", math.cosh)
Asinh = special("asinh", "Asinh-22", "input", "Inverse hyperbolic sine", math.asinh)
Acosh = special("acosh", "Acosh-22", "input", "Inverse hyperbolic cosine", math.acosh)
Atanh = special("atanh", "Atanh-22", "input", "Inverse hyperbolic tangent", math.atanh)
