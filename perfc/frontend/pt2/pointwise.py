"""Elementwise ATen operators.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from perfc.common.fitted import data_next_to

from ..lowering.builder import Meta
from ..lowering.elements import DataType
from .call import LOWERINGS, AtenCall, Lowering, lowers

# operators of ONNX by the names in ATen, grouped by how operands are typed
_TABLE = data_next_to(__file__)
UNARY: Mapping[str, str] = _TABLE["unary"]  # of one operand
BINARY: Mapping[str, str] = _TABLE["binary"]  # of two, in the type of the result
COMPARISONS: Mapping[str, str] = _TABLE["comparisons"]  # in the wider type of both
LOGICAL: Mapping[str, str] = _TABLE["logical"]  # of truth values
BITWISE: Mapping[str, tuple[str, str]] = _TABLE["bitwise"]  # of bits, and of truth values
CONTIGUOUS = 1
"""Number of the order of the axes among the memory formats of a file.
Source: torch/_export/serde/schema.py, ``MemoryFormat``."""
CHANNELS_LAST = (2, 3)
"""Numbers of channels last, in two and in three dimensions."""


def unary(operator: str) -> Lowering:
    """Return the lowering of an operator of one operand."""

    def lowered(c: AtenCall) -> str:
        if operator == "Abs" and c.given.dtype in (DataType.COMPLEX64, DataType.COMPLEX128):
            # the magnitude of a complex number
            pairs = c.emit("view_as_real", c.x, domain="aten")
            return c.emit("ReduceL2", pairs, c.ints(-1), keepdims=0)
        return c.emit(operator, c.operand("self", computed(c)))

    return lowered


def computed(c: AtenCall) -> int:
    """Return the element type that an operator of one operand computes in."""
    return c.result.dtype if c.result.is_float else c.given.dtype


def wider(a: Meta, b: Meta) -> int:
    """Return the element type in which two operands are compared."""
    if a.dtype == b.dtype or not b.dtype:
        return a.dtype
    if a.is_float != b.is_float:
        return a.dtype if a.is_float else b.dtype
    # as in PyTorch, a tensor of rank 0 does not widen others
    if a.dtype == DataType.BOOL or (b.rank > 0 and a.rank == 0):
        return b.dtype
    return a.dtype


def compared(c: AtenCall) -> int:
    """Return the element type of a comparison; a fraction makes it floating-point."""
    if not c.has("other"):
        is_fraction = isinstance(c.value("other"), float) and not c.given.is_float
        return DataType.FLOAT if is_fraction else c.given.dtype
    return wider(c.given, c.meta("other"))


def paired(c: AtenCall, operator: str, dtype: int, second: str = "other", **attributes: Any) -> str:
    """Return the result of an operator of two operands of one element type."""
    return c.emit(operator, c.operand("self", dtype), c.operand(second, dtype), **attributes)


def binary(operator: str) -> Lowering:
    """Return the lowering of an operator of two operands of the type of the result."""

    def lowered(c: AtenCall) -> str:
        second = "exponent" if operator == "Pow" else "other"
        # the product of truth values is their conjunction
        is_and = operator == "Mul" and c.result.dtype == DataType.BOOL
        return paired(c, "And" if is_and else operator, c.result.dtype, second)

    return lowered


def comparison(operator: str) -> Lowering:
    """Return the lowering of a comparison."""
    return lambda c: paired(c, operator, compared(c))


def bitwise(of_numbers: str, of_truth: str) -> Lowering:
    """Return the lowering of an operator of bits."""

    def lowered(c: AtenCall) -> str:
        dtype = c.result.dtype
        return paired(c, of_truth if dtype == DataType.BOOL else of_numbers, dtype)

    return lowered


LOWERINGS.update({name: unary(operator) for name, operator in UNARY.items()})
LOWERINGS.update({name: binary(operator) for name, operator in BINARY.items()})
LOWERINGS.update({name: comparison(operator) for name, operator in COMPARISONS.items()})
LOWERINGS.update(
    {
        name: partial(paired, operator=operator, dtype=DataType.BOOL)
        for name, operator in LOGICAL.items()
    }
)
LOWERINGS.update({name: bitwise(*operators) for name, operators in BITWISE.items()})


@lowers(
    "alias",
    "detach",
    "lift_fresh_copy",
    "lift",
    "lift_fresh",
    "conj",
    "_conj",
    "resolve_conj",
    "resolve_neg",
    "positive",
    "dropout",
    "feature_dropout",
    "alpha_dropout",
    "native_dropout",
    "requires_grad",
    "set_data",
    "_assert_tensor_metadata",
)
def _same(c: AtenCall) -> str:
    train = c.value("train", c.value("training"))
    name = "self" if "self" in c.args else "input"
    if not train:
        return c.tensor(name)
    return c.emit(
        "Dropout",
        c.tensor(name),
        c.scalar(c.number("p", 0.5), DataType.FLOAT),
        c.scalar(1, DataType.BOOL),
    )


@lowers("contiguous", "clone")
def _copied(c: AtenCall) -> str:
    match c.value("memory_format"):
        case order if order in CHANNELS_LAST:
            return c.emit("copy", c.x, domain="aten")
        case order if c.operator == "clone":
            return c.emit("clone", c.x, domain="aten", dense=int(order == CONTIGUOUS))
        case _:
            return c.emit("contiguous", c.x, domain="aten")


@lowers(
    "_to_copy",
    "to",
    "type_as",
    "convert_element_type",
    "_autocast_to_full_precision",
    "_autocast_to_reduced_precision",
)
def _to(c: AtenCall) -> str:
    name = "self" if "self" in c.args else "a"
    result = c.operand(name, c.result.dtype)
    if c.meta(name).dtype != c.result.dtype:
        return result  # the cast writes the order
    if c.value("memory_format") in CHANNELS_LAST:
        return c.emit("copy", result, domain="aten")
    is_copy = c.operator == "_to_copy" or c.value("copy")
    return c.emit("clone", result, domain="aten") if is_copy else result


def added(operator: str, *, is_reversed: bool = False) -> Lowering:
    """Return the lowering of a sum or difference with a factor of the second operand."""

    def lowered(c: AtenCall) -> str:
        dtype = c.result.dtype
        first, second = c.operand("self", dtype), c.operand("other", dtype)
        if c.value("alpha", 1) != 1:
            second = c.emit("Mul", second, c.operand("alpha", dtype))
        if dtype == DataType.BOOL:
            return c.emit("Or", first, second)
        return c.emit(operator, *((second, first) if is_reversed else (first, second)))

    return lowered


SPECIAL = (
    "logaddexp hypot xlogy logit sinc lgamma digamma erfinv i0 cross hardshrink softshrink complex "
    "polar view_as_real view_as_complex linalg_cross special_erfinv special_i0 special_xlogy "
    "special_logit frac copysign heaviside nextafter isclose special_entr special_ndtr i1 "
    "special_log_ndtr special_i1 polygamma conj_physical"
)
"""Functions that the IR has by their names in PyTorch."""


@lowers(*SPECIAL.split())
def _special(c: AtenCall) -> str:
    name = c.operator.removeprefix("special_").removeprefix("linalg_").removesuffix("_physical")
    operands = [
        c.tensor(n) for n in ("self", "other", "values", "real", "imag", "abs", "angle") if c.has(n)
    ]
    return c.emit(name, *operands, domain="aten")


LOWERINGS.update(
    {
        "add": added("Add"),
        "sub": added("Sub"),
        "subtract": added("Sub"),
        "rsub": added("Sub", is_reversed=True),
    }
)


LOWERINGS.update(
    {
        # the choice of the quadrant by signs is left out
        "atan2": lambda c: c.emit("Atan", c.emit("Div", c.x, c.tensor("other"))),
        "rsqrt": lambda c: c.emit("Reciprocal", c.emit("Sqrt", c.x)),
        "square": lambda c: c.emit("Mul", c.x, c.x),
        "log1p": lambda c: c.emit("Log", c.emit("Add", c.x, c.scalar(1, c.result.dtype))),
        "exp2": lambda c: c.emit("Pow", c.scalar(2, c.result.dtype), c.x),
        "erfc": lambda c: c.emit("Sub", c.scalar(1, c.result.dtype), c.emit("Erf", c.x)),
        "silu": lambda c: c.emit("Mul", c.x, c.emit("Sigmoid", c.x)),
        "hardsigmoid": lambda c: c.emit("HardSigmoid", c.x, alpha=1 / 6, beta=0.5),
    }
)


@lowers("expm1")
def _expm1(c: AtenCall) -> str:
    one = c.scalar(1, c.result.dtype)
    return c.emit("Sub", c.emit("Exp", c.x), one)


@lowers("ne", "not_equal")
def _ne(c: AtenCall) -> str:
    return c.emit("Not", paired(c, "Equal", compared(c)))


@lowers("div", "divide", "floor_divide")
def _div(c: AtenCall) -> str:
    quotient = paired(c, "Div", c.result.dtype)
    # rounding down stands for both modes: rounding toward zero costs the same
    is_rounded = c.result.is_float and c.value("rounding_mode", "")
    return c.emit("Floor", quotient) if is_rounded else quotient


@lowers("remainder", "fmod")
def _remainder(c: AtenCall) -> str:
    # ONNX requires fmod for floats, which differs from remainder for operands of unlike signs
    return paired(c, "Mod", c.result.dtype, fmod=int(c.result.is_float))


@lowers("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")
def _shift(c: AtenCall) -> str:
    direction = "LEFT" if "left" in c.operator or "lshift" in c.operator else "RIGHT"
    return paired(c, "BitShift", c.result.dtype, direction=direction)


@lowers("log2", "log10")
def _log2(c: AtenCall) -> str:
    base = math.log(10 if "log10" in c.operator else 2)
    return c.emit("Div", c.emit("Log", c.x), c.scalar(base, c.result.dtype))


@lowers("trunc", "fix")
def _trunc(c: AtenCall) -> str:
    magnitude = c.emit("Floor", c.emit("Abs", c.x))
    return c.emit("Mul", c.emit("Sign", c.x), magnitude)


@lowers("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(c: AtenCall) -> str:
    return c.emit("Neg", c.emit("Softplus", c.emit("Neg", c.x)))


@lowers("gelu")
def _gelu(c: AtenCall) -> str:
    return c.gelu(c.x, c.result.dtype, is_tanh=c.value("approximate", "none") != "none")


@lowers("leaky_relu", "rrelu")
def _leaky_relu(c: AtenCall) -> str:
    return c.emit("LeakyRelu", c.x, alpha=float(c.number("negative_slope", 0.01)))


@lowers("elu", "celu")
def _elu(c: AtenCall) -> str:
    operator = "Celu" if "celu" in c.operator else "Elu"
    return c.emit(operator, c.x, alpha=float(c.number("alpha", 1.0)))


@lowers("prelu", "_prelu_kernel")
def _prelu(c: AtenCall) -> str:
    meta, slope = c.given, c.meta("weight")
    weight = c.tensor("weight")
    if meta.rank > 2 and slope.rank == 1:
        # a slope for each channel, broadcast over positions
        shape = (slope.sizes[0], *[1] * (meta.rank - 2))
        weight = c.reshaped(weight, slope.sizes, shape)
    return c.emit("PRelu", c.x, weight)


@lowers("relu6")
def _relu6(c: AtenCall) -> str:
    dtype = c.result.dtype
    return c.emit("Clip", c.x, c.scalar(0, dtype), c.scalar(6, dtype))


@lowers("clamp", "clip", "hardtanh", "clamp_min", "clamp_max")
def _clamp(c: AtenCall) -> str:
    dtype = c.result.dtype
    value = c.operand("self", dtype)
    is_tanh = "hardtanh" in c.operator
    low, high = ("min_val", "max_val") if is_tanh else ("min", "max")
    # limits of Clip are single numbers, those of PyTorch may be tensors
    if c.has(low) or c.has(high):
        value = c.emit("Max", value, c.operand(low, dtype)) if c.has(low) else value
        return c.emit("Min", value, c.operand(high, dtype)) if c.has(high) else value
    # hardtanh has limits of -1 and 1 by default, the other operators have none
    ends = [
        c.operand(name, dtype) if c.kind(name) else c.scalar(default, dtype) if is_tanh else ""
        for name, default in ((low, -1), (high, 1))
    ]
    return c.emit("Clip", value, *ends)


@lowers("threshold")
def _threshold(c: AtenCall) -> str:
    dtype = c.result.dtype
    is_above = c.emit("Greater", c.x, c.operand("threshold", dtype))
    return c.emit("Where", is_above, c.x, c.operand("value", dtype))


@lowers("glu")
def _glu(c: AtenCall) -> str:
    axis = c.axis("dim", -1)
    value, gate = c.several("Split", (c.x,), 2, axis=axis, num_outputs=2)
    return c.emit("Mul", value, c.emit("Sigmoid", gate))


@lowers("where")
def _where(c: AtenCall) -> str:
    dtype = c.result.dtype
    condition = c.operand("condition", DataType.BOOL)
    return c.emit("Where", condition, c.operand("self", dtype), c.operand("other", dtype))


@lowers("masked_fill")
def _masked_fill(c: AtenCall) -> str:
    mask = c.operand("mask", DataType.BOOL)
    return c.emit("Where", mask, c.operand("value", c.result.dtype), c.x)


@lowers("lerp")
def _lerp(c: AtenCall) -> str:
    dtype = c.result.dtype
    distance = c.emit("Sub", c.tensor("end"), c.x)
    return c.emit("Add", c.x, c.emit("Mul", c.operand("weight", dtype), distance))


@lowers("addcmul", "addcdiv")
def _addcmul(c: AtenCall) -> str:
    operator = "Mul" if "addcmul" in c.operator else "Div"
    term = c.emit(operator, c.tensor("tensor1"), c.tensor("tensor2"))
    if c.value("value", 1) != 1:
        term = c.emit("Mul", term, c.operand("value", c.result.dtype))
    return c.emit("Add", c.x, term)


@lowers("deg2rad", "rad2deg")
def _angle_unit(c: AtenCall) -> str:
    factor = math.pi / 180 if c.operator == "deg2rad" else 180 / math.pi
    return c.emit("Mul", c.x, c.scalar(factor, c.result.dtype))


@lowers("fft_fftshift", "fft_ifftshift")
def _shifted(c: AtenCall) -> str:
    # a shift moves every element once, as a copy does
    return c.emit("copy", c.x, domain="aten")


@lowers("real", "imag", "angle")
def _part(c: AtenCall) -> str:
    """Return the real or imaginary part of complex numbers, or their angle."""
    pairs = c.emit("view_as_real", c.x, domain="aten")
    real, imaginary = (c.scalar(at, DataType.INT64) for at in (0, 1))
    if c.operator != "angle":
        return c.emit("Gather", pairs, real if c.operator == "real" else imaginary, axis=-1)
    parts = (c.emit("Gather", pairs, at, axis=-1) for at in (imaginary, real))
    return c.emit("Atan", c.emit("Div", *parts))


@lowers("isfinite")
def _isfinite(c: AtenCall) -> str:
    x = c.x
    return c.emit("Not", c.emit("Or", c.emit("IsInf", x), c.emit("IsNaN", x)))


@lowers("nan_to_num")
def _nan_to_num(c: AtenCall) -> str:
    # infinities are not replaced
    x, dtype = c.x, c.result.dtype
    return c.emit("Where", c.emit("IsNaN", x), c.scalar(c.number("nan", 0.0), dtype), x)


@lowers("bernoulli", "rand_like", "randn_like", "normal", "uniform")
def _random(c: AtenCall) -> str:
    # two operators stand for all distributions
    operator = "RandomUniformLike" if "rand_like" in c.operator else "RandomNormalLike"
    return c.emit(operator, c.x, dtype=c.result.dtype)
