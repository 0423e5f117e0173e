"""Operators of Relax on elements, and those that reduce, move or make tensors.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from perfc.common.fitted import data_next_to

from ..lowering.builder import Size
from ..lowering.elements import DataType
from ..lowering.emitter import FARTHEST
from .call import LOWERINGS, RelaxCall, lowers

_TABLE: Mapping[str, Mapping[str, str]] = data_next_to(__file__)
ELEMENTWISE, REDUCTIONS = _TABLE["elementwise"], _TABLE["reductions"]
"""Operators of ONNX by equal operator of Relax: of elements, and over axes."""


def _elementwise(operator: str, c: RelaxCall) -> str:
    return c.emit(operator, *(c.value(at) for at in range(len(c.args))))


LOWERINGS.update({k: partial(_elementwise, v) for k, v in ELEMENTWISE.items()})


@lowers(
    "rsqrt",
    "square",
    "nn.silu",
    "not_equal",
    "mod",
    "floor_divide",
    "trunc",
    "ewise_fma",
    "log_add_exp",
    "isfinite",
)
def _composite(c: RelaxCall) -> str:
    x = c.x
    match c.operator:
        case "rsqrt":
            return c.emit("Reciprocal", c.emit("Sqrt", x))
        case "square":
            return c.emit("Mul", x, x)
        case "nn.silu":
            return c.emit("Mul", x, c.emit("Sigmoid", x))
        case "not_equal":
            return c.emit("Not", c.emit("Equal", x, c.value(1)))
        case "mod":
            # ONNX requires fmod for floats
            return c.emit("Mod", x, c.value(1), fmod=1 if c.given.is_float else None)
        case "floor_divide":
            quotient = c.emit("Div", x, c.value(1))
            return c.emit("Floor", quotient) if c.given.is_float else quotient
        case "trunc":
            # toward zero: the sign times the magnitude rounded down
            return c.emit("Mul", c.emit("Sign", x), c.emit("Floor", c.emit("Abs", x)))
        case "ewise_fma":
            return c.emit("Add", c.emit("Mul", x, c.value(1)), c.value(2))
        case "log_add_exp":
            return c.emit("Log", c.emit("Add", c.emit("Exp", x), c.emit("Exp", c.value(1))))
        case _:
            return c.emit("Not", c.emit("Or", c.emit("IsNaN", x), c.emit("IsInf", x)))


@lowers("where")
def _where(c: RelaxCall) -> str:
    return c.emit("Where", *(c.value(at, c.result.dtype) for at in range(3)))


@lowers("clip")
def _clip(c: RelaxCall) -> str:
    return c.emit("Clip", *(c.value(at, c.given.dtype) for at in range(3)))


@lowers("astype")
def _cast(c: RelaxCall) -> str:
    return c.emit("Cast", c.x, to=c.result.dtype)


@lowers("nn.gelu", "nn.gelu_tanh")
def _gelu(c: RelaxCall) -> str:
    return c.gelu(c.x, c.result.dtype, is_tanh=c.operator.endswith("tanh"))


@lowers("nn.leakyrelu")
def _leaky(c: RelaxCall) -> str:
    return c.emit("LeakyRelu", c.x, alpha=float(c.attribute("alpha", 0.01)))


@lowers(
    "nn.dropout",
    "to_vdevice",
    "hint_on_device",
    "wrap_param",
    "grad.no_grad",
    "builtin.stop_lift_params",
    "memory.ensure_zero_offset",
    "nn.batch_flatten",
    "flatten",
    "memory.view",
    "reshape",
)
def _reshape(c: RelaxCall) -> list[str]:
    x = c.x
    # equal extents need no node: most of these operators change nothing
    if c.result.sizes == c.given.sizes:
        return [x] * len(c.outputs)
    # without a known shape of the result, the operand computes it
    if c.operator == "reshape" and None in c.result.sizes:
        return [c.emit("Reshape", x, c.value(1))]
    return [c.reshaped(x, c.result.sizes)]


@lowers("squeeze", "expand_dims")
def _squeeze(c: RelaxCall) -> str:
    is_squeeze = c.operator == "squeeze"
    if is_squeeze and c.attribute("axis") is None:
        return c.emit("Squeeze", c.x)
    axes = c.axes("axis", (c.given if is_squeeze else c.result).rank)
    return c.emit("Squeeze" if is_squeeze else "Unsqueeze", c.x, c.ints(*axes))


@lowers("permute_dims")
def _transpose(c: RelaxCall) -> str:
    rank = c.given.rank
    axes = c.attribute("axes", [*range(rank)][::-1])
    return c.emit("Transpose", c.x, perm=tuple(a % rank for a in axes))


@lowers("concat", "stack")
def _concat(c: RelaxCall) -> str:
    axis = int(c.attribute("axis", 0)) % c.result.rank
    parts = c.values(0)
    if c.operator == "stack":
        parts = [c.emit("Unsqueeze", p, c.ints(axis)) for p in parts]
    return c.emit("Concat", *parts, axis=axis)


@lowers("split")
def _split(c: RelaxCall) -> list[str]:
    axis, count = c.axis(), len(c.outputs)
    sizes = [m.sizes[axis] for m in c.outputs]
    known = [s for s in sizes if isinstance(s, int)]
    # with a symbolic extent among them, the parts are equal
    parts = c.ints(*known) if len(known) == count else ""
    return c.several("Split", (c.x, parts), count, axis=axis, num_outputs=None if parts else count)


@lowers("broadcast_to", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like")
def _full(c: RelaxCall) -> str:
    dtype = c.result.dtype
    if c.operator == "broadcast_to":
        return c.expanded(c.x)
    if c.operator.startswith("full"):
        return c.expanded(c.value(1, dtype))
    return c.expanded(c.scalar(int(c.operator.startswith("ones")), dtype))


@lowers("tile", "repeat")
def _tile(c: RelaxCall) -> str:
    if c.operator == "tile":
        rank, repeats = c.given.rank, [int(r) for r in c.attribute("repeats")]
        if len(repeats) > rank:
            raise ValueError("more repeats than axes")
        return c.emit("Tile", c.x, c.ints(*[1] * (rank - len(repeats)), *repeats))
    axis, sizes, count = c.axis(), list(c.given.sizes), int(c.attribute("repeats", 1))
    # each element is repeated along a new axis behind its axis, which is then merged into it
    value = c.emit("Unsqueeze", c.x, c.ints(axis + 1))
    counts = [count if a == axis + 1 else 1 for a in range(len(sizes) + 1)]
    return c.reshaped(c.emit("Tile", value, c.ints(*counts)), c.result.sizes)


@lowers("flip")
def _flip(c: RelaxCall) -> str:
    ends = c.ints(-1), c.ints(-FARTHEST), c.ints(c.axis()), c.ints(-1)
    return c.emit("Slice", c.x, *ends)


@lowers("strided_slice", "dynamic_strided_slice")
def _slice(c: RelaxCall) -> str:
    if c.operator.startswith("dynamic"):
        bounds = [c.integers(at) for at in (1, 2, 3)]
        axes = c.ints(*range(c.given.rank))
        return c.emit("Slice", c.x, bounds[0], bounds[1], axes, bounds[2])
    # operands are axes, begins, ends and maybe steps, each a tuple of as many numbers: `literal`
    # has their numbers one after the other, `columns` their sizes, which may be symbolic
    columns = [c.sizes(at) if c.has(at) else [] for at in range(1, 5)]
    literal = [
        c.scope.document.plain(p) for at in (1, 2, 3, 4) if c.has(at) for p in _elements(c, at)
    ]
    count = len(columns[0])
    rows = [literal[i * count : (i + 1) * count] for i in range(len(literal) // max(count, 1))]
    vectors: list[str] = []
    for row, sizes in zip(rows, columns, strict=False):
        is_known = all(isinstance(v, int) for v in row)
        values = [min(max(int(v), -FARTHEST), FARTHEST) for v in row] if is_known else []
        vectors.append(c.ints(*values) if is_known else c.extents(sizes))
    axes, starts, ends, *steps = vectors
    return c.emit("Slice", c.x, starts, ends, axes, *steps)


def _elements(c: RelaxCall, at: int) -> list[int]:
    """Return the numbers of the nodes of an operand that is a tuple of numbers."""
    document = c.scope.document
    return document.listed(document.part(c.args[at], "fields", "values"))


@lowers("take")
def _take(c: RelaxCall) -> str:
    if c.attribute("axis") is None:
        return c.emit("Gather", c.reshaped(c.x, [-1]), c.value(1, DataType.INT64), axis=0)
    return c.emit("Gather", c.x, c.value(1, DataType.INT64), axis=c.axis())


@lowers("gather_elements", "gather_nd", "scatter_elements", "scatter_nd")
def _gather(c: RelaxCall) -> str:
    x = c.x
    # ONNX has no mean; an update without a reduction replaces elements
    reduction = {"add": "add", "mul": "mul", "min": "min", "max": "max"}.get(
        str(c.attribute("reduction", ""))
    )
    match c.operator:
        case "gather_elements":
            return c.emit("GatherElements", x, c.value(1), axis=c.axis())
        case "gather_nd":
            return c.emit("GatherND", x, c.integers(1), batch_dims=int(c.attribute("batch_dims")))
        case "scatter_elements":
            return c.emit(
                "ScatterElements", x, c.value(1), c.value(2), axis=c.axis(), reduction=reduction
            )
        case _:
            return c.emit("ScatterND", x, c.integers(1), c.value(2), reduction=reduction)


@lowers("one_hot")
def _one_hot(c: RelaxCall) -> str:
    # ONNX has one operand of two values: elsewhere and at the index, in Relax operands 2 and 1
    ends = [c.emit("Unsqueeze", c.value(at, c.result.dtype), c.ints(0)) for at in (2, 1)]
    depth = c.ints(int(c.attribute("depth")))
    return c.emit(
        "OneHot", c.x, depth, c.emit("Concat", *ends, axis=0), axis=int(c.attribute("axis", -1))
    )


@lowers("nn.pad")
def _pad(c: RelaxCall) -> str:
    # widths before and after each axis in turn; ONNX has all widths before first
    widths = [int(w) for w in c.attribute("pad_width")]
    # any other mode pads with a number
    mode = {"reflect": "reflect", "edge": "edge"}.get(str(c.attribute("pad_mode")), "constant")
    value = c.scalar(float(c.attribute("pad_value", 0.0)), c.given.dtype)
    pads = c.ints(*widths[::2], *widths[1::2])
    return c.emit("Pad", c.x, pads, value if mode == "constant" else "", mode=mode)


@lowers("shape_of", "shape_to_tensor", "tensor_to_shape")
def _shape(c: RelaxCall) -> str:
    return c.emit("Shape", c.x) if c.operator == "shape_of" else c.integers(0)


@lowers("arange")
def _arange(c: RelaxCall) -> str:
    return c.emit("Range", *(_bound(c, at) for at in range(3)))


def _bound(c: RelaxCall, at: int) -> str:
    """Return a bound of a range: a number, or an extent of an input."""
    document, at_node, dtype = c.scope.document, c.args[at], c.result.dtype
    if document.kind(at_node) == "PrimValue":
        at_node = document.part(at_node, "value")
    if document.kind(at_node) in ("IntImm", "FloatImm"):
        return c.scalar(document.plain(at_node), dtype)
    size: Size = document.size(at_node)
    return c.cast(c.emit("Squeeze", c.extents([size])), DataType.INT64, dtype)


@lowers("tril", "triu")
def _triangle(c: RelaxCall) -> str:
    diagonal = (
        c.value(1, DataType.INT64)
        if c.has(1)
        else c.scalar(int(c.attribute("k", 0)), DataType.INT64)
    )
    return c.emit("Trilu", c.x, diagonal, upper=int(c.operator == "triu"))


@lowers("cumsum", "cumprod")
def _cumulative(c: RelaxCall) -> str:
    operator = "CumSum" if c.operator == "cumsum" else "CumProd"
    return c.emit(operator, c.x, c.scalar(c.axis(), DataType.INT64))


@lowers(*REDUCTIONS, "variance", "std")
def _reduce(c: RelaxCall) -> str:
    meta, keep = c.given, c.flag("keepdims")
    axes, value = c.axes("axis", meta.rank), c.x
    if c.operator in REDUCTIONS:
        return c.reduced(REDUCTIONS[c.operator], value, meta.dtype, axes, keepdims=keep)
    # the mean of the squared distances from the mean
    difference = c.emit("Sub", value, c.emit("ReduceMean", value, c.ints(*axes), keepdims=1))
    variance = c.emit(
        "ReduceMean", c.emit("Mul", difference, difference), c.ints(*axes), keepdims=keep
    )
    return c.emit("Sqrt", variance) if c.operator == "std" else variance


@lowers("argmax", "argmin")
def _arg(c: RelaxCall) -> str:
    operator, keep = "ArgMax" if c.operator == "argmax" else "ArgMin", c.flag("keepdims")
    if c.attribute("axis") is None:
        return c.emit(operator, c.reshaped(c.x, [-1]), axis=0, keepdims=keep)
    return c.emit(operator, c.x, axis=c.axis(), keepdims=keep)


@lowers("topk", "sort", "argsort")
def _topk(c: RelaxCall) -> list[str]:
    axis = c.axis(default=-1)
    count: Size = int(c.attribute("k", 1)) if c.operator == "topk" else c.given.sizes[axis]
    largest = c.flag("largest", default=True) if c.operator == "topk" else c.flag("descending")
    values, places = c.several("TopK", (c.x, c.extents([count])), 2, axis=axis, largest=largest)
    if c.operator == "argsort" or c.attribute("ret_type") == "indices":
        return [c.cast(places, DataType.INT64, c.result.dtype)]
    if len(c.outputs) == 1:
        return [values]
    return [values, c.cast(places, DataType.INT64, c.outputs[1].dtype)]
