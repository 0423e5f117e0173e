"""Elementwise ATen operators."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..lowering.elements import DataType
from .builder import Meta
from .call import LOWERINGS, AtenCall, Lowering, lowers

UNARY: Mapping[str, str] = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "exp": "Exp", "floor": "Floor", "log": "Log", "neg": "Neg", "reciprocal": "Reciprocal",
    "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sgn": "Sign",
    "sin": "Sin", "sinh": "Sinh", "softplus": "Softplus", "softsign": "Softsign", "sqrt": "Sqrt",
    "tan": "Tan", "tanh": "Tanh", "mish": "Mish", "hardswish": "HardSwish", "isnan": "IsNaN",
    "isinf": "IsInf", "bitwise_not": "BitwiseNot", "logical_not": "Not", "absolute": "Abs",
    "negative": "Neg", "expit": "Sigmoid",
}  # fmt: skip
"""Operators of one operand, with that of ONNX."""

BINARY: Mapping[str, str] = {
    "mul": "Mul", "multiply": "Mul", "maximum": "Max", "minimum": "Min", "pow": "Pow",
    "true_divide": "Div", "max.other": "Max", "min.other": "Min", "fmax": "Max", "fmin": "Min",
}  # fmt: skip
"""Operators of two operands of the type of the result."""
COMPARISONS: Mapping[str, str] = {
    "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
LOGICAL: Mapping[str, str] = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
BITWISE: Mapping[str, tuple[str, str]] = {
    "bitwise_and": ("BitwiseAnd", "And"), "bitwise_or": ("BitwiseOr", "Or"),
    "bitwise_xor": ("BitwiseXor", "Xor"), "__and__": ("BitwiseAnd", "And"),
    "__or__": ("BitwiseOr", "Or"), "__xor__": ("BitwiseXor", "Xor"),
}  # fmt: skip
"""Operators of whole numbers, and of booleans."""


def unary(operator: str) -> Lowering:
    """Return the lowering of an operator of one operand."""

    def lowered(c: AtenCall) -> str:
        return c.emit(operator, c.cast(c.tensor("self"), c.meta("self").dtype, computed(c)))

    return lowered


def computed(c: AtenCall) -> int:
    """Return the element type that an operator of one operand computes in."""
    given, result = c.meta("self"), c.result
    return result.dtype if result.is_float and not given.is_float else given.dtype


def operand(c: AtenCall, name: str, dtype: int) -> str:
    """Return a tensor or a number of the program as an operand of an element type."""
    if c.has(name):
        return c.cast(c.tensor(name), c.meta(name).dtype, dtype)
    value = c.value(name)
    if isinstance(value, int | float):
        return c.scalar(value, dtype)
    return c.cast(c.size(value), DataType.INT64, dtype)


def wider(a: Meta, b: Meta) -> int:
    """Return the element type in which two operands are compared."""
    if a.dtype == b.dtype or not b.dtype:
        return a.dtype
    if a.is_float != b.is_float:
        return a.dtype if a.is_float else b.dtype
    if a.dtype == DataType.BOOL or (b.rank > 0 and a.rank == 0):
        return b.dtype
    return a.dtype


def compared(c: AtenCall) -> int:
    """Return the element type of a comparison; a fraction makes it floating-point."""
    if not c.has("other"):
        is_fraction = isinstance(c.value("other"), float) and not c.meta("self").is_float
        return DataType.FLOAT if is_fraction else c.meta("self").dtype
    return wider(c.meta("self"), c.meta("other"))


def binary(operator: str) -> Lowering:
    """Return the lowering of an operator of two operands of the type of the result."""

    def lowered(c: AtenCall) -> str:
        second = "exponent" if operator == "Pow" else "other"
        dtype = c.result.dtype
        if operator in ("Mul",) and dtype == DataType.BOOL:
            return c.emit("And", operand(c, "self", dtype), operand(c, second, dtype))
        return c.emit(operator, operand(c, "self", dtype), operand(c, second, dtype))

    return lowered


def comparison(operator: str) -> Lowering:
    """Return the lowering of a comparison."""

    def lowered(c: AtenCall) -> str:
        dtype = compared(c)
        return c.emit(operator, operand(c, "self", dtype), operand(c, "other", dtype))

    return lowered


def logical(operator: str) -> Lowering:
    """Return the lowering of an operator of truth values."""

    def lowered(c: AtenCall) -> str:
        one, other = (operand(c, name, DataType.BOOL) for name in ("self", "other"))
        return c.emit(operator, one, other)

    return lowered


def bitwise(of_numbers: str, of_truth: str) -> Lowering:
    """Return the lowering of an operator of bits."""

    def lowered(c: AtenCall) -> str:
        dtype = c.result.dtype
        operator = of_truth if dtype == DataType.BOOL else of_numbers
        return c.emit(operator, operand(c, "self", dtype), operand(c, "other", dtype))

    return lowered


LOWERINGS.update({name: unary(operator) for name, operator in UNARY.items()})
LOWERINGS.update({name: binary(operator) for name, operator in BINARY.items()})
LOWERINGS.update({name: comparison(operator) for name, operator in COMPARISONS.items()})
LOWERINGS.update({name: logical(operator) for name, operator in LOGICAL.items()})
LOWERINGS.update({name: bitwise(*operators) for name, operators in BITWISE.items()})


@lowers("alias", "detach", "contiguous", "lift_fresh_copy", "lift", "lift_fresh", "resolve_conj",
        "resolve_neg", "positive", "clone", "dropout", "feature_dropout", "alpha_dropout",
        "native_dropout", "requires_grad", "set_data", "_assert_tensor_metadata")  # fmt: skip
def _same(c: AtenCall) -> str:
    train = c.value("train", c.value("training", False))
    name = "self" if "self" in c.args else "input"
    if not train:
        return c.tensor(name)
    return c.emit("Dropout", c.tensor(name), c.scalar(c.number("p", 0.5), DataType.FLOAT),
                  c.scalar(1, DataType.BOOL))  # fmt: skip


@lowers("_to_copy", "to", "type_as", "convert_element_type", "_autocast_to_full_precision",
        "_autocast_to_reduced_precision")  # fmt: skip
def _to(c: AtenCall) -> str:
    name = "self" if "self" in c.args else "a"
    return c.cast(c.tensor(name), c.meta(name).dtype, c.result.dtype)


def added(operator: str, *, is_reversed: bool = False) -> Lowering:
    """Return the lowering of a sum or difference with a factor of the second operand."""

    def lowered(c: AtenCall) -> str:
        dtype = c.result.dtype
        one, other = operand(c, "self", dtype), operand(c, "other", dtype)
        if c.value("alpha", 1) != 1:
            other = c.emit("Mul", other, operand(c, "alpha", dtype))
        if dtype == DataType.BOOL:
            return c.emit("Or", one, other)
        return c.emit(operator, other, one) if is_reversed else c.emit(operator, one, other)

    return lowered


LOWERINGS.update({
    "add": added("Add"), "sub": added("Sub"), "subtract": added("Sub"),
    "rsub": added("Sub", is_reversed=True),
})  # fmt: skip


@lowers("ne", "not_equal")
def _ne(c: AtenCall) -> str:
    dtype = compared(c)
    return c.emit("Not", c.emit("Equal", operand(c, "self", dtype), operand(c, "other", dtype)))


@lowers("div", "divide", "floor_divide")
def _div(c: AtenCall) -> str:
    dtype, mode = c.result.dtype, c.value("rounding_mode", "")
    quotient = c.emit("Div", operand(c, "self", dtype), operand(c, "other", dtype))
    if c.result.is_float and mode:
        return c.emit("Floor", quotient)
    return quotient


@lowers("remainder", "fmod")
def _remainder(c: AtenCall) -> str:
    dtype = c.result.dtype
    return c.emit("Mod", operand(c, "self", dtype), operand(c, "other", dtype),
                  fmod=int(c.result.is_float))  # fmt: skip


@lowers("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")
def _shift(c: AtenCall) -> str:
    dtype = c.result.dtype
    direction = "LEFT" if "left" in c.operator or "lshift" in c.operator else "RIGHT"
    return c.emit("BitShift", operand(c, "self", dtype), operand(c, "other", dtype),
                  direction=direction)  # fmt: skip


@lowers("atan2")
def _atan2(c: AtenCall) -> str:
    return c.emit("Atan", c.emit("Div", c.tensor("self"), c.tensor("other")))


@lowers("rsqrt")
def _rsqrt(c: AtenCall) -> str:
    return c.emit("Reciprocal", c.emit("Sqrt", c.tensor("self")))


@lowers("square")
def _square(c: AtenCall) -> str:
    return c.emit("Mul", c.tensor("self"), c.tensor("self"))


@lowers("expm1")
def _expm1(c: AtenCall) -> str:
    one = c.scalar(1, c.result.dtype)
    return c.emit("Sub", c.emit("Exp", c.tensor("self")), one)


@lowers("log1p")
def _log1p(c: AtenCall) -> str:
    return c.emit("Log", c.emit("Add", c.tensor("self"), c.scalar(1, c.result.dtype)))


@lowers("log2", "log10")
def _log2(c: AtenCall) -> str:
    base = math.log(10 if "log10" in c.operator else 2)
    return c.emit("Div", c.emit("Log", c.tensor("self")), c.scalar(base, c.result.dtype))


@lowers("exp2")
def _exp2(c: AtenCall) -> str:
    return c.emit("Pow", c.scalar(2, c.result.dtype), c.tensor("self"))


@lowers("pow.Scalar")
def _pow_scalar(c: AtenCall) -> str:
    dtype = c.result.dtype
    return c.emit("Pow", operand(c, "self", dtype), operand(c, "exponent", dtype))


@lowers("erfc")
def _erfc(c: AtenCall) -> str:
    return c.emit("Sub", c.scalar(1, c.result.dtype), c.emit("Erf", c.tensor("self")))


@lowers("trunc", "fix")
def _trunc(c: AtenCall) -> str:
    magnitude = c.emit("Floor", c.emit("Abs", c.tensor("self")))
    return c.emit("Mul", c.emit("Sign", c.tensor("self")), magnitude)


@lowers("silu")
def _silu(c: AtenCall) -> str:
    return c.emit("Mul", c.tensor("self"), c.emit("Sigmoid", c.tensor("self")))


@lowers("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(c: AtenCall) -> str:
    return c.emit("Neg", c.emit("Softplus", c.emit("Neg", c.tensor("self"))))


@lowers("gelu")
def _gelu(c: AtenCall) -> str:
    x, dtype = c.tensor("self"), c.result.dtype
    if c.value("approximate", "none") != "none":
        return c.emit("Gelu", x, approximate="tanh")
    # in the operators of ONNX 18, which predictors of whole runs know
    inner = c.emit("Erf", c.emit("Div", x, c.scalar(math.sqrt(2), dtype)))
    half = c.emit("Mul", c.scalar(0.5, dtype), c.emit("Add", inner, c.scalar(1, dtype)))
    return c.emit("Mul", x, half)


@lowers("leaky_relu")
def _leaky_relu(c: AtenCall) -> str:
    return c.emit("LeakyRelu", c.tensor("self"), alpha=float(c.number("negative_slope", 0.01)))


@lowers("elu", "celu")
def _elu(c: AtenCall) -> str:
    operator = "Celu" if "celu" in c.operator else "Elu"
    return c.emit(operator, c.tensor("self"), alpha=float(c.number("alpha", 1.0)))


@lowers("selu")
def _selu(c: AtenCall) -> str:
    return c.emit("Selu", c.tensor("self"))


@lowers("prelu", "_prelu_kernel")
def _prelu(c: AtenCall) -> str:
    meta, slope = c.meta("self"), c.meta("weight")
    weight = c.tensor("weight")
    if meta.rank > 2 and slope.rank == 1:
        shape = (slope.sizes[0], *[1] * (meta.rank - 2))
        weight = c.reshaped(weight, slope.sizes, shape)
    return c.emit("PRelu", c.tensor("self"), weight)


@lowers("hardsigmoid")
def _hardsigmoid(c: AtenCall) -> str:
    return c.emit("HardSigmoid", c.tensor("self"), alpha=1 / 6, beta=0.5)


@lowers("relu6")
def _relu6(c: AtenCall) -> str:
    dtype = c.result.dtype
    return c.emit("Clip", c.tensor("self"), c.scalar(0, dtype), c.scalar(6, dtype))


@lowers("clamp", "clip", "hardtanh", "clamp_min", "clamp_max")
def _clamp(c: AtenCall) -> str:
    dtype = c.result.dtype
    value = c.cast(c.tensor("self"), c.meta("self").dtype, dtype)
    is_tanh = "hardtanh" in c.operator
    low, high = ("min_val", "max_val") if is_tanh else ("min", "max")
    if c.has(low) or c.has(high):
        value = c.emit("Max", value, operand(c, low, dtype)) if c.has(low) else value
        return c.emit("Min", value, operand(c, high, dtype)) if c.has(high) else value
    ends = [operand(c, name, dtype) if c.kind(name) else
            c.scalar(default, dtype) if is_tanh else ""
            for name, default in ((low, -1), (high, 1))]  # fmt: skip
    return c.emit("Clip", value, *ends)


@lowers("threshold")
def _threshold(c: AtenCall) -> str:
    dtype = c.result.dtype
    is_above = c.emit("Greater", c.tensor("self"), operand(c, "threshold", dtype))
    return c.emit("Where", is_above, c.tensor("self"), operand(c, "value", dtype))


@lowers("glu")
def _glu(c: AtenCall) -> str:
    axis = c.axis("dim", -1)
    one, gate = c.several("Split", (c.tensor("self"),), 2, axis=axis, num_outputs=2)
    return c.emit("Mul", one, c.emit("Sigmoid", gate))


@lowers("where")
def _where(c: AtenCall) -> str:
    dtype = c.result.dtype
    condition = c.cast(c.tensor("condition"), c.meta("condition").dtype, DataType.BOOL)
    return c.emit("Where", condition, operand(c, "self", dtype), operand(c, "other", dtype))


@lowers("masked_fill")
def _masked_fill(c: AtenCall) -> str:
    mask = c.cast(c.tensor("mask"), c.meta("mask").dtype, DataType.BOOL)
    return c.emit("Where", mask, operand(c, "value", c.result.dtype), c.tensor("self"))


@lowers("lerp")
def _lerp(c: AtenCall) -> str:
    dtype = c.result.dtype
    distance = c.emit("Sub", c.tensor("end"), c.tensor("self"))
    return c.emit("Add", c.tensor("self"), c.emit("Mul", operand(c, "weight", dtype), distance))


@lowers("addcmul", "addcdiv")
def _addcmul(c: AtenCall) -> str:
    operator = "Mul" if "addcmul" in c.operator else "Div"
    term = c.emit(operator, c.tensor("tensor1"), c.tensor("tensor2"))
    if c.value("value", 1) != 1:
        term = c.emit("Mul", term, operand(c, "value", c.result.dtype))
    return c.emit("Add", c.tensor("self"), term)


@lowers("isfinite")
def _isfinite(c: AtenCall) -> str:
    x = c.tensor("self")
    return c.emit("Not", c.emit("Or", c.emit("IsInf", x), c.emit("IsNaN", x)))


@lowers("nan_to_num")
def _nan_to_num(c: AtenCall) -> str:
    x, dtype = c.tensor("self"), c.result.dtype
    return c.emit("Where", c.emit("IsNaN", x), c.scalar(c.number("nan", 0.0), dtype), x)


@lowers("bernoulli", "rand_like", "randn_like", "normal", "uniform")
def _random(c: AtenCall) -> str:
    operator = "RandomUniformLike" if "rand_like" in c.operator else "RandomNormalLike"
    return c.emit(operator, c.tensor("self"), dtype=c.result.dtype)
