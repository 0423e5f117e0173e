"""Element-by-element operators: unary, binary and variadic with broadcasting, casts."""

from __future__ import annotations

from . import sweep
from .build import PACKED, Build, NoCaseError, allowed, elem

UNARY = (
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "BitwiseNot",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
)
BINARY = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "And",
    "Or",
    "Xor",
    "Equal",
    "Greater",
    "Less",
    "GreaterOrEqual",
    "LessOrEqual",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
)


def broadcast_pair(b: Build) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast together, either way round."""
    full = b.shape()
    other = list(full[b.rng.randint(0, len(full)) :])
    for i in range(len(other)):
        if b.chance(0.3):
            other[i] = 1
    left = list(full)
    for i in range(len(left)):
        if b.chance(0.15):
            left[i] = 1
    pair = (tuple(left), tuple(other))
    return pair if b.chance(0.5) else (pair[1], pair[0])


@sweep(*UNARY, repeats=5)
def unary(b: Build, op: str) -> None:
    attrs = {}
    if op in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu") and b.chance(0.5):
        attrs["alpha"] = 0.5
    if op == "Gelu" and b.chance(0.5):
        attrs["approximate"] = "tanh"
    if op == "IsInf" and b.chance(0.5):
        attrs["detect_negative"] = 0
    b.op(op, b.rand(b.shape(), b.dtype(op)), **attrs)


@sweep(*BINARY, repeats=7)
def binary(b: Build, op: str) -> None:
    left, right = broadcast_pair(b)
    kind = b.dtype(op)
    attrs = {"direction": b.pick("LEFT", "RIGHT")} if op == "BitShift" else {}
    if op == "Mod":
        # The remainder of floats needs fmod=1; a divisor of zero would trap.
        attrs = {"fmod": 1} if kind in ("f32", "f64", "f16", "bf16") or b.chance(0.3) else {}
    x, y = b.array(left, kind), b.array(right, kind)
    if kind not in ("str", "bool") and op in ("Mod", "Div"):
        y = (y + 1).astype(y.dtype)
    second = b.const(y) if b.chance(0.3) else b.data(y)
    b.op(op, b.data(x), second, **attrs)


@sweep("Pow", repeats=3)
def power_of_two_dtypes(b: Build, op: str) -> None:
    if b.opset < 12:
        raise NoCaseError(op)
    left, right = broadcast_pair(b)
    b.op(op, b.rand(left, b.dtype(op)), b.rand(right, b.dtype(op, 1)))


@sweep("Max", "Min", "Sum", "Mean", repeats=7)
def variadic(b: Build, op: str) -> None:
    kind = b.dtype(op)
    left, right = broadcast_pair(b)
    if b.opset < 8:
        right = left
    args = [b.rand(left, kind)]
    args += [b.rand(right, kind)] * b.rng.randint(0, 2)
    if b.chance(0.3):
        args.append(b.rand(left, kind))
    b.op(op, *args)


@sweep("PRelu", repeats=6)
def prelu(b: Build, op: str) -> None:
    kind = b.dtype(op)
    full = b.shape(b.rng.randint(1, 4))
    slope = list(full[b.rng.randint(0, len(full)) :])
    slope = [1 if b.chance(0.3) else d for d in slope]
    b.op(op, b.rand(full, kind), b.rand(slope, kind))


@sweep("Where", repeats=10)
def where(b: Build, op: str) -> None:
    kind = b.dtype(op, 1)
    left, right = broadcast_pair(b)
    cond = b.pick(left, right, ())
    b.op(op, b.rand(cond, "bool"), b.rand(left, kind), b.rand(right, kind))


@sweep("Clip", repeats=8)
def clip(b: Build, op: str) -> None:
    shape = b.shape()
    kind = b.dtype(op)
    if b.opset < 11:
        b.op(op, b.rand(shape, kind), min=b.pick(None, 0.0), max=b.pick(None, 0.5))
        return
    low = b.rand((), kind) if b.chance(0.5) else ""
    high = b.const(b.array((), kind)) if b.chance(0.6) else ""
    b.op(op, b.rand(shape, kind), low, high)


@sweep("Cast", repeats=14)
def cast(b: Build, op: str) -> None:
    source = b.dtype(op)
    target = b.pick(*allowed(op, b.opset, 0, True))
    if source == "str" or (target == "str" and source in PACKED):
        source = "f32"
    b.op(op, b.rand(b.shape(), source), to=elem(target))


@sweep("CastLike", repeats=6)
def cast_like(b: Build, op: str) -> None:
    source, target = b.dtype(op), b.dtype(op, 1)
    if "str" in (source, target):
        source, target = "f32", "i64"
    b.op(op, b.rand(b.shape(), source), b.rand(b.shape(), target))


@sweep("BitCast", repeats=14)
def bit_cast(b: Build, op: str) -> None:
    groups = (("f32", "i32", "u32"), ("f64", "i64", "u64"), ("i8", "u8"), ("f16", "bf16", "i16"))
    group = b.pick(*groups)
    b.op(op, b.rand(b.shape(), b.pick(*group)), to=elem(b.pick(*group)))


@sweep("SwiGLU", repeats=12)
def swiglu(b: Build, op: str) -> None:
    shape = list(b.shape(b.rng.randint(1, 4)))
    kind = b.dtype(op, 0, ("f32", "f16", "f64"))
    b.op(op, b.rand(shape, kind), b.rand(shape, kind))


@sweep("Dropout", repeats=8)
def dropout(b: Build, op: str) -> None:
    kind = b.dtype(op, 0, ("f32", "f64", "f16"))
    n = b.pick(1, 2)
    x = b.rand(b.shape(), kind)
    if b.opset < 12:
        b.op(op, x, n=n, ratio=0.3)
        return
    ratio = b.const(b.array((), "f32")) if b.chance(0.6) else ""
    mode = b.const(b.array((), "bool")) if b.chance(0.4) else ""
    b.op(op, x, ratio, mode, n=n)


@sweep("CumSum", "CumProd", repeats=8)
def cumulative(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.array((), "i64")
    axis[...] = b.axis(rank)
    x = b.rand(b.shape(rank), b.dtype(op))
    b.op(op, x, b.drive(axis), exclusive=b.pick(0, 1), reverse=b.pick(0, 1))
