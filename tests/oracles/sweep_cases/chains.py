"""Shapes computed from other shapes and from values, by the operators exporters use."""

from __future__ import annotations

import numpy as np

from . import sweep
from .build import Build, NoCaseError

OPSETS = (9, 11, 12, 13, 15, 17, 18, 19, 21, 22, 23)


def axes_op(b: Build, op: str, x: str, axes: list[int]) -> str:
    """Squeeze, Unsqueeze or a reduction; axes as attribute or as input, by opset."""
    first = 13 if op in ("Squeeze", "Unsqueeze", "ReduceSum") else 18
    if b.opset < first:
        return str(b.op(op, x, axes=axes))
    return str(b.op(op, x, b.const(np.array(axes))))


def dim(b: Build, x: str, i: int, scalar: bool = False) -> str:
    """One dimension of a tensor, as a scalar or as a vector of one."""
    shape = b.op("Shape", x)
    if b.opset >= 15 and not scalar and b.chance(0.3):
        return str(b.op("Shape", x, start=i, end=i + 1))
    got = b.op("Gather", shape, b.const(np.array(i if scalar or b.chance(0.5) else [i])), axis=0)
    index = b.nodes[-1].input[1]
    is_vector = any(t.name == index and t.dims for t in b.inits)
    return got if scalar or is_vector else axes_op(b, "Unsqueeze", got, [0])


def arithmetic(b: Build, x: str, by: int) -> str:
    """Multiply, divide or shift a dimension, as exporters do, through casts now and then."""
    match b.pick("mul", "div", "add", "cast", "none"):
        case "mul":
            return str(b.op("Mul", x, b.const(np.array([by]))))
        case "div":
            return str(
                b.op("Div", b.op("Mul", x, b.const(np.array([2 * by]))), b.const(np.array([2])))
            )
        case "add":
            return str(b.op("Add", x, b.const(np.array([by]))))
        case "cast":
            y = b.op("Cast", x, to=1)
            y = b.op("Floor", b.op("Mul", y, b.const(np.array([by + 0.5], np.float32))))
            return str(b.op("Cast", y, to=7))
    return x


def image(b: Build) -> tuple[str, tuple[int, ...]]:
    """A rank-4 input, its dims even so that they can be halved."""
    dims = (b.rng.randint(1, 3), 2 * b.rng.randint(1, 3), 2 * b.rng.randint(1, 4), 4)
    return b.rand(dims, "f32"), dims


@sweep("Reshape", repeats=9, opsets=OPSETS)
def reshape(b: Build, op: str) -> None:
    """Split a dimension into heads, flatten the rest: every exporter's idiom."""
    x, _ = image(b)
    minus = b.const(np.array([-1]))
    match b.pick(0, 1, 2, 3):
        case 0:
            target = b.op("Concat", dim(b, x, 0), minus, axis=0)
        case 1:
            target = b.op("Concat", dim(b, x, 0), dim(b, x, 1), minus, axis=0)
        case 2:
            half = b.op("Div", dim(b, x, 1), b.const(np.array([2])))
            target = b.op("Concat", dim(b, x, 0), half, b.const(np.array([2])), minus, axis=0)
        case _:
            product = b.op("Mul", dim(b, x, 2), dim(b, x, 3))
            target = b.op("Concat", dim(b, x, 0), dim(b, x, 1), product, axis=0)
    y = b.op(op, x, target)
    b.op("Shape", y)


@sweep("Expand", repeats=8, opsets=OPSETS)
def expand(b: Build, op: str) -> None:
    x, _ = image(b)
    ones = (
        b.op("ConstantOfShape", b.const(np.array([1]))) if b.chance(0.5) else b.const(np.array([1]))
    )
    if b.nodes and b.nodes[-1].op_type == "ConstantOfShape":
        ones = b.op("Add", b.op("Cast", ones, to=7), b.const(np.array([1])))
    target = b.op("Concat", ones, arithmetic(b, dim(b, x, 0), b.rng.randint(1, 3)), axis=0)
    y = b.op(op, b.const(np.ones((1, 1), np.float32)), target)
    if b.opset >= 9:
        shape = b.op("Shape", y)
        minus = b.op(
            "Mul",
            b.op("ConstantOfShape", b.op("Shape", shape)),
            b.const(np.array([-1.0], np.float32)),
        )
        b.op("Cast", minus, to=7)


@sweep("Where", repeats=6, opsets=OPSETS)
def where_on_shapes(b: Build, op: str) -> None:
    """PyTorch's expand: -1 in the target means keep, chosen by Equal and Where."""
    x = b.rand((b.rng.randint(1, 4), 1, 3), "f32")
    target = np.array([-1, b.rng.randint(1, 4), b.pick(3, -1)])
    t = b.drive(target)
    keep = b.op("Equal", t, b.const(np.array([-1, -1, -1])))
    chosen = b.op(op, keep, b.op("Shape", x), t)
    b.op("Expand", x, chosen)


@sweep("Range", repeats=8, opsets=[v for v in OPSETS if v >= 11])
def range_(b: Build, op: str) -> None:
    x, _ = image(b)
    stop = dim(b, x, b.rng.randint(0, 3), scalar=True)
    start, step = b.const(np.array(0)), b.const(np.array(b.rng.randint(1, 2)))
    if b.chance(0.4):
        stop = b.op("Add", stop, b.drive(np.array(b.rng.randint(0, 3))))
    positions = b.op(op, start, stop, step)
    row = axes_op(b, "Unsqueeze", positions, [0])
    col = axes_op(b, "Unsqueeze", positions, [1])
    b.op("Less", row, col)


@sweep("Slice", repeats=9, opsets=[v for v in OPSETS if v >= 11])
def slice_(b: Build, op: str) -> None:
    """Cut to half, or to a computed length, or all but the last."""
    x, _ = image(b)
    zero, axis = b.const(np.array([0])), b.pick(1, 2)
    match b.pick(0, 1, 2, 3):
        case 0:
            end = b.op("Div", dim(b, x, axis), b.const(np.array([2])))
            left = b.op(op, x, zero, end, b.const(np.array([axis])))
            right = b.op(op, x, end, b.const(np.array([2**63 - 1])), b.const(np.array([axis])))
            b.op("Concat", right, left, axis=axis)
        case 1:
            end = b.op("Sub", dim(b, x, axis), b.const(np.array([1])))
            b.op(op, x, zero, end, b.const(np.array([axis])))
        case 2:
            b.op(op, b.const(b.array((1, 9))), zero, dim(b, x, axis), b.const(np.array([1])))
        case _:
            shape = b.op("Shape", x)
            cut = b.op(op, shape, b.const(np.array([1])), b.const(np.array([-1])))
            b.op("ConstantOfShape", cut)


@sweep("Pad", repeats=7, opsets=[v for v in OPSETS if v >= 11])
def pad(b: Build, op: str) -> None:
    """Pad up to a multiple, as windowed attention does; pads reversed from PyTorch's order."""
    x, _ = image(b)
    if b.chance(0.5):
        size = b.const(np.array([b.rng.randint(2, 5)]))
        rest = b.op("Mod", dim(b, x, 2), size)
        need = b.op("Mod", b.op("Sub", size, rest), size)
        zero = b.const(np.zeros(6, np.int64))
        pads = b.op("Concat", zero, need, b.const(np.array([0])), axis=0)
    else:
        torch = b.drive(np.array([1, 0, b.rng.randint(0, 2), 1]))
        more = b.op("Cast", b.op("ConstantOfShape", b.const(np.array([4]))), to=7)
        full = b.op("Concat", torch, more, axis=0)
        two = b.op("Reshape", full, b.const(np.array([-1, 2])))
        last, step = b.const(np.array([-1])), b.const(np.array([-1]))
        low, zero = b.const(np.array([-(2**63) + 1])), b.const(np.array([0]))
        turned = b.op("Slice", two, last, low, zero, step)
        pads = b.op("Reshape", b.op("Transpose", turned, perm=[1, 0]), b.const(np.array([-1])))
    b.op(op, x, pads)


@sweep("Resize", repeats=7, opsets=[v for v in OPSETS if v >= 11])
def resize(b: Build, op: str) -> None:
    x, _ = image(b)
    roi = "" if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    empty = "" if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    if b.chance(0.6):
        head = b.op("Concat", dim(b, x, 0), dim(b, x, 1), axis=0)
        tail = b.op("Concat", *(arithmetic(b, dim(b, x, i), 2) for i in (2, 3)), axis=0)
        b.op(op, x, roi, empty, b.op("Concat", head, tail, axis=0), mode="nearest")
    else:
        ones = b.const(np.ones(2, np.float32))
        want = b.op("Cast", b.const(np.array([7, 9])), to=1)
        have = b.op("Cast", b.op("Concat", dim(b, x, 2), dim(b, x, 3), axis=0), to=1)
        scale = b.op("Concat", ones, b.op("Div", want, have), axis=0)
        b.op(op, x, roi, scale, mode="nearest")


@sweep("Tile", repeats=5, opsets=OPSETS)
def tile(b: Build, op: str) -> None:
    x, _ = image(b)
    one = b.const(np.array([1]))
    repeats = b.op("Concat", dim(b, x, 0), arithmetic(b, dim(b, x, 3), 2), axis=0)
    b.op(op, b.const(b.array((1, 2))), repeats)
    b.op(op, x, b.op("Concat", one, one, one, dim(b, x, 0), axis=0))


@sweep("ConstantOfShape", repeats=6, opsets=OPSETS)
def constant_of_shape(b: Build, op: str) -> None:
    x, _ = image(b)
    y = b.op(op, b.op("Concat", dim(b, x, 0), arithmetic(b, dim(b, x, 2), 2), axis=0))
    b.op("NonZero", b.op("Add", y, b.const(np.ones(1, np.float32))))


@sweep("Split", repeats=6, opsets=OPSETS)
def split_of_shape(b: Build, op: str) -> None:
    """Take a shape apart with Split, put it together in another order."""
    x, _ = image(b)
    shape = b.op("Shape", x)
    if b.opset < 18:
        parts = b.op(op, shape, n=4, axis=0)
    else:
        parts = b.op(op, shape, n=4, axis=0, num_outputs=4)
    order = b.rng.sample(range(4), 4)
    y = b.op("Reshape", x, b.op("Concat", *(parts[i] for i in order), axis=0))
    b.op("ReduceMax", y, keepdims=0)


@sweep("ReduceProd", repeats=5, opsets=OPSETS)
def product_of_shape(b: Build, op: str) -> None:
    x, _ = image(b)
    total = b.op(op, b.op("Shape", x), keepdims=1)
    b.op("Reshape", x, total)
    if b.opset >= 11:
        b.op("Range", b.const(np.array(0)), b.op("Size", x), b.const(np.array(2)))


@sweep("TopK", repeats=5, opsets=[v for v in OPSETS if v >= 11])
def top_k(b: Build, op: str) -> None:
    """min(k, number of candidates), as detectors write it."""
    x, _ = image(b)
    flat = b.op("Reshape", x, b.const(np.array([0, -1])))
    have = dim(b, flat, 1)
    if b.opset >= 12:
        k = b.op("Min", have, b.drive(np.array([b.rng.randint(1, 300)])))
    else:
        pair = b.op("Concat", have, b.const(np.array([5])), axis=0)
        k = b.op("Cast", b.op("ReduceMin", b.op("Cast", pair, to=1), keepdims=1), to=7)
    b.op(op, flat, k, n=2)


@sweep("Compress", repeats=3, opsets=[v for v in OPSETS if v >= 11])
def data_dependent(b: Build, op: str) -> None:
    """A length nobody can know: it must stay a symbol, the same one in all that follows."""
    x = b.rand((b.rng.randint(2, 5), 3), "f32")
    keep = b.op("Greater", axes_op(b, "ReduceMax", x, [1]), b.const(np.array(0.5, np.float32)))
    keep = b.op("Reshape", keep, b.const(np.array([-1])))
    y = b.op(op, x, keep, axis=0)
    b.op("Add", y, b.op("Relu", y))
    b.op("Concat", y, y, axis=0)
    b.op("Reshape", y, b.op("Concat", b.op("Shape", y), b.const(np.array([1])), axis=0))


@sweep("Einsum", repeats=4, opsets=[v for v in OPSETS if v >= 12])
def attention_block(b: Build, op: str) -> None:
    """One attention block as exported: reshape to heads, product, mask from a range, back."""
    if b.opset < 12:
        raise NoCaseError(op)
    n, s, h, d = b.rng.randint(1, 2), b.rng.randint(1, 4), b.rng.randint(1, 3), 2
    x = b.rand((n, s, h * d), "f32")
    heads = b.op("Concat", dim(b, x, 0), dim(b, x, 1), b.const(np.array([h, d])), axis=0)
    q = b.op("Transpose", b.op("Reshape", x, heads), perm=[0, 2, 1, 3])
    scores = b.op(op, q, q, equation="bhid,bhjd->bhij")
    stop = dim(b, x, 1, scalar=True)
    steps = b.op("Range", b.const(np.array(0)), stop, b.const(np.array(1)))
    rows, cols = axes_op(b, "Unsqueeze", steps, [0]), axes_op(b, "Unsqueeze", steps, [1])
    mask = b.op("LessOrEqual", rows, cols)
    low = b.const(np.array(-1e4, np.float32))
    soft = b.op("Softmax", b.op("Where", mask, scores, low), axis=-1)
    y = b.op("Transpose", b.op("MatMul", soft, q), perm=[0, 2, 1, 3])
    b.op(
        "Reshape", y, b.op("Concat", dim(b, x, 0), dim(b, x, 1), b.const(np.array([h * d])), axis=0)
    )
