"""ATen operators that move, cut and select elements."""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering.builder import Size
from ..lowering.elements import DataType
from .call import AtenCall, lowers

END = (1 << 63) - 1
MOST_DIFFERENCES = 8
"""Maximum order of a difference along an axis."""
"""End of a slice that reaches to the end of its axis."""
PADDING_MODES = {"reflect": "reflect", "reflection": "reflect", "replicate": "edge",
                 "replication": "edge", "circular": "wrap"}  # fmt: skip
"""Modes of padding of ONNX by those of PyTorch and by the names of its operators."""


@lowers("view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze",
        "_reshape_alias", "ravel", "view_as", "reshape_as", "squeeze_copy", "unsqueeze_copy",
        "view_copy", "atleast_1d", "atleast_2d")  # fmt: skip
def _view(c: AtenCall) -> str:
    if c.result.dtype != c.meta("self").dtype:
        return c.emit("BitCast", c.tensor("self"), to=c.result.dtype)
    before, after = c.meta("self").sizes, c.result.sizes
    if c.operator.startswith("unsqueeze"):
        return c.emit("Unsqueeze", c.tensor("self"), c.ints(c.axis("dim", rank=len(after))))
    if len(after) < len(before) and "shape" not in c.args and "size" not in c.args:
        axes = [c.value("dim")] if isinstance(c.value("dim"), int) else c.value("dim")
        axes = axes if axes is not None else [i for i, s in enumerate(before) if s == 1]
        if "start_dim" not in c.args and len(before) - len(after) == len(axes):
            return c.emit("Squeeze", c.tensor("self"), c.ints(*(a % len(before) for a in axes)))
    return c.reshaped(c.tensor("self"), before, after)


@lowers("permute", "permute_copy")
def _permute(c: AtenCall) -> str:
    return transposed(c, c.axes("dims"))


@lowers("transpose", "swapaxes", "swapdims", "transpose_copy")
def _transpose(c: AtenCall) -> str:
    names = ("dim0", "dim1") if "dim0" in c.args else ("axis0", "axis1")
    one, other = (c.axis(name) for name in names)
    order = list(range(c.meta("self").rank))
    order[one], order[other] = order[other], order[one]
    return transposed(c, order)


@lowers("t", "numpy_T", "mT", "matrix_H", "adjoint")
def _t(c: AtenCall) -> str:
    rank = c.meta("self").rank
    order = [*range(rank - 2), rank - 1, rank - 2] if rank > 1 else [*range(rank)]
    return transposed(c, order)


@lowers("movedim", "moveaxis")
def _movedim(c: AtenCall) -> str:
    rank = c.meta("self").rank
    source, goal = ([a % rank for a in c.integers(n, ())] for n in ("source", "destination"))
    order = [a for a in range(rank) if a not in source]
    for at, axis in sorted(zip(goal, source, strict=True)):
        order.insert(at, axis)
    return transposed(c, order)


def transposed(c: AtenCall, order: Sequence[int]) -> str:
    """Return the first operand with its axes in another order."""
    if list(order) == sorted(order):
        return c.tensor("self")
    return c.emit("Transpose", c.tensor("self"), perm=tuple(order))


@lowers("expand", "expand_as", "broadcast_to", "expand_copy")
def _expand(c: AtenCall) -> str:
    return expanded(c, c.tensor("self"), c.meta("self").sizes, c.result.sizes)


def expanded(c: AtenCall, value: str, before: Sequence[Size], after: Sequence[Size]) -> str:
    """Return a value broadcast to other extents."""
    if tuple(before) == tuple(after):
        return value
    padded = [None] * (len(after) - len(before)) + list(before)
    shape = [1 if b is not None and b == a else a for b, a in zip(padded, after, strict=True)]
    return c.emit("Expand", value, c.extents(shape))


@lowers("repeat", "tile")
def _repeat(c: AtenCall) -> str:
    repeats = c.value("repeats", c.value("dims"))
    before = c.meta("self").sizes
    missing = len(c.result.sizes) - len(before)
    value = c.tensor("self")
    if missing:
        value = c.emit("Unsqueeze", value, c.ints(*range(missing)))
    counts = [1] * (len(c.result.sizes) - len(repeats)) + list(repeats)
    if all(n == 1 for n in counts):
        return value
    return c.emit("Tile", value, c.extents(counts))


@lowers("repeat_interleave.self_int")
def _repeat_interleave(c: AtenCall) -> str:
    sizes, count = list(c.meta("self").sizes), c.value("repeats")
    axis = c.axis("dim")
    value = c.emit("Unsqueeze", c.tensor("self"), c.ints(axis + 1))
    before = [*sizes[: axis + 1], 1, *sizes[axis + 1 :]]
    after = [*sizes[: axis + 1], count, *sizes[axis + 1 :]]
    return c.reshaped(expanded(c, value, before, after), after, c.result.sizes)


@lowers("cat", "concat", "concatenate")
def _cat(c: AtenCall) -> str:
    raws = c.raws("tensors")
    metas = [c.scope.meta(raw) for raw in raws]
    values = [c.cast(c.scope.values[raw], m.dtype, c.result.dtype)
              for raw, m in zip(raws, metas, strict=True) if m.sizes != (0,)]  # fmt: skip
    axis = c.axis("dim", rank=c.result.rank)
    return values[0] if len(values) == 1 else c.emit("Concat", *values, axis=axis)


@lowers("stack")
def _stack(c: AtenCall) -> str:
    axis = c.axis("dim", rank=c.result.rank)
    parts = [c.emit("Unsqueeze", value, c.ints(axis)) for value in c.tensors("tensors")]
    return c.emit("Concat", *parts, axis=axis)


@lowers("hstack", "vstack", "column_stack")
def _hstack(c: AtenCall) -> str:
    axis = 0 if "vstack" in c.operator or c.result.rank == 1 else 1
    return c.emit("Concat", *c.tensors("tensors"), axis=axis)


@lowers("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unsafe_chunk",
        "split_copy", "split_with_sizes_copy", "hsplit", "vsplit")  # fmt: skip
def _split(c: AtenCall) -> list[str]:
    axis = c.axis("dim")
    sizes = [c.scope.meta(raw).sizes[axis] for raw in c.outputs]
    if len(sizes) == 1:
        return [c.tensor("self")]
    return c.several("Split", (c.tensor("self"), c.extents(sizes)), len(sizes), axis=axis)


@lowers("unbind", "unbind_copy")
def _unbind(c: AtenCall) -> list[str]:
    axis, count = c.axis("dim"), len(c.outputs)
    parts = [c.tensor("self")]
    if count > 1:
        parts = c.several("Split", (c.tensor("self"),), count, axis=axis, num_outputs=count)
    return [c.emit("Squeeze", part, c.ints(axis)) for part in parts]


@lowers("slice", "narrow", "slice_copy")
def _slice(c: AtenCall) -> str:
    axis = c.axis("dim")
    if c.meta("self").sizes == c.result.sizes:
        return c.tensor("self")
    start, end = c.value("start", 0), c.value("end", END)
    if "length" in c.args:
        end = c.result.sizes[axis] if start == 0 else ("+", start, c.value("length"))
    return c.emit("Slice", c.tensor("self"), c.extents([start]), c.extents([end]),
                  c.ints(axis), c.ints(c.integer("step", 1)))  # fmt: skip


@lowers("select", "select_copy")
def _select(c: AtenCall) -> str:
    return c.emit("Gather", c.tensor("self"), c.size(c.value("index", 0)), axis=c.axis("dim"))


@lowers("index_select")
def _index_select(c: AtenCall) -> str:
    return c.emit("Gather", c.tensor("self"), c.tensor("index"), axis=c.axis("dim"))


@lowers("embedding")
def _embedding(c: AtenCall) -> str:
    return c.emit("Gather", c.tensor("weight"), c.tensor("indices"), axis=0)


@lowers("gather", "take_along_dim")
def _gather(c: AtenCall) -> str:
    index = "indices" if "indices" in c.args else "index"
    return c.emit("GatherElements", c.tensor("self"), c.tensor(index), axis=c.axis("dim"))


@lowers("take")
def _take(c: AtenCall) -> str:
    flat = c.emit("Reshape", c.tensor("self"), c.ints(-1))
    return c.emit("Gather", flat, c.tensor("index"), axis=0)


@lowers("scatter", "scatter_add", "scatter_reduce")
def _scatter(c: AtenCall) -> str:
    mode = {"sum": "add", "amax": "max", "amin": "min", "prod": "mul", "add": "add",
            "multiply": "mul"}  # fmt: skip
    reduction = "add" if "scatter_add" in c.operator else mode.get(c.value("reduce", ""), "none")
    index, source = c.tensor("index"), c.tensor("src")
    if not source:
        dtype = c.result.dtype
        source = expanded(c, c.operand("value", dtype), (), c.meta("index").sizes)
    return c.emit("ScatterElements", c.tensor("self"), index, source, axis=c.axis("dim"),
                  reduction=reduction)  # fmt: skip


@lowers("index", "_unsafe_index")
def _index(c: AtenCall) -> str:
    raws = c.raws("indices")
    given = [(axis, raw) for axis, raw in enumerate(raws) if raw]
    if len(given) == 1:
        axis, raw = given[0]
        if c.scope.meta(raw).dtype == DataType.BOOL:
            return selected(c, axis, raw)
        return c.emit("Gather", c.tensor("self"), c.scope.values[raw], axis=axis)
    axes, rank = [axis for axis, _ in given], c.meta("self").rank
    if axes != list(range(axes[0], axes[-1] + 1)):
        raise ValueError("indices of axes that are not neighbors")
    value = c.tensor("self")
    order = [*axes, *(a for a in range(rank) if a not in axes)]
    if axes[0]:
        value = c.emit("Transpose", value, perm=tuple(order))
    value = c.emit("GatherND", value, index_tuples(c, [raw for _, raw in given]))
    if axes[0]:
        depth = max(c.scope.meta(raw).rank for _, raw in given)
        first = depth + axes[0]
        back = [*range(depth, first), *range(depth), *range(first, c.result.rank)]
        value = c.emit("Transpose", value, perm=tuple(back))
    return value


def selected(c: AtenCall, axis: int, raw: str) -> str:
    """Return the elements where a mask is true."""
    mask = c.scope.meta(raw)
    if axis == 0 and mask.rank > 1:
        return c.emit("GatherND", c.tensor("self"), places(c, raw))
    return c.emit("Compress", c.tensor("self"), c.scope.values[raw], axis=axis)


def places(c: AtenCall, raw: str) -> str:
    """Return the positions of the true elements of a mask, one row each."""
    rows = c.emit("NonZero", c.scope.values[raw])
    return c.emit("Transpose", rows, perm=(1, 0))


def index_tuples(c: AtenCall, raws: Sequence[str]) -> str:
    """Return tensors of indices joined along a new last axis."""
    metas = [c.scope.meta(raw) for raw in raws]
    rank = max(m.rank for m in metas)
    sizes: list[Size] = []
    for at in range(rank):
        extents = [m.sizes[at - rank + m.rank] for m in metas if at - rank + m.rank >= 0]
        sizes.append(next((s for s in extents if s != 1), 1))
    parts = [expanded(c, c.scope.values[raw], m.sizes, sizes)
             for raw, m in zip(raws, metas, strict=True)]  # fmt: skip
    columns = [c.emit("Unsqueeze", part, c.ints(rank)) for part in parts]
    return c.emit("Concat", *columns, axis=rank)


@lowers("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(c: AtenCall) -> str:
    raws = [raw for raw in c.raws("indices") if raw]
    if len(raws) == 1 and c.scope.meta(raws[0]).dtype == DataType.BOOL:
        if c.meta("values").rank == 0:
            mask = c.scope.values[raws[0]]
            for axis in range(c.scope.meta(raws[0]).rank, c.result.rank):
                mask = c.emit("Unsqueeze", mask, c.ints(axis))
            return c.emit("Where", mask, c.tensor("values"), c.tensor("self"))
        at = places(c, raws[0])
    else:
        at = index_tuples(c, raws)
    reduction = "add" if c.value("accumulate", False) else "none"
    return c.emit("ScatterND", c.tensor("self"), at, c.tensor("values"), reduction=reduction)


@lowers("masked_select")
def _masked_select(c: AtenCall) -> str:
    flat = [c.emit("Reshape", c.tensor(name), c.ints(-1)) for name in ("self", "mask")]
    return c.emit("Compress", *flat, axis=0)


@lowers("masked_scatter")
def _masked_scatter(c: AtenCall) -> str:
    at = places(c, c.raw("mask"))
    flat = c.emit("Reshape", c.tensor("source"), c.ints(-1))
    return c.emit("ScatterND", c.tensor("self"), at, flat)


@lowers("select_scatter", "slice_scatter", "copy", "fill.Tensor")
def _copy(c: AtenCall) -> str:
    source = "src" if "src" in c.args else "value"
    value = c.operand(source, c.result.dtype)
    if c.meta(source).sizes != c.result.sizes:
        return c.emit("Where", c.scalar(1, DataType.BOOL), value, c.tensor("self"))
    return c.emit("Identity", value)


@lowers("pad", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
        "replication_pad2d", "replication_pad3d", "reflection_pad3d", "_pad_enum")  # fmt: skip
def _pad(c: AtenCall) -> str:
    given = c.integers("pad" if "pad" in c.args else "padding", ())
    rank = c.meta("self").rank
    if not any(given):
        return c.tensor("self")
    before, after = [0] * rank, [0] * rank
    for at in range(len(given) // 2):
        before[rank - 1 - at], after[rank - 1 - at] = given[2 * at], given[2 * at + 1]
    given_mode = c.value("mode") or c.operator.partition("_pad")[0]
    mode = PADDING_MODES.get(given_mode, "constant")
    value = c.number("value", 0) if mode == "constant" else 0
    return c.emit("Pad", c.tensor("self"), c.ints(*before, *after),
                  c.scalar(value, c.result.dtype) if value else "", mode=mode)  # fmt: skip


@lowers("roll")
def _roll(c: AtenCall) -> str:
    value, shifts = c.tensor("self"), c.integers("shifts", ())
    for shift, axis in zip(shifts, c.axes("dims"), strict=True):
        if not shift:
            continue
        ends = [c.emit("Slice", value, c.ints(a), c.ints(b), c.ints(axis))
                for a, b in ((-shift, END), (0, -shift))]  # fmt: skip
        value = c.emit("Concat", *ends, axis=axis)
    return value


@lowers("diff")
def _diff(c: AtenCall) -> str:
    axis, ends = c.axis("dim", -1), [c.tensor(p) for p in ("prepend", "self", "append")]
    parts = [value for value in ends if value]
    value = parts[0] if len(parts) == 1 else c.emit("Concat", *parts, axis=axis)
    if (count := c.integer("n", 1)) > MOST_DIFFERENCES:
        raise ValueError("too many differences")
    for _ in range(count):
        later, earlier = (c.emit("Slice", value, c.ints(a), c.ints(b), c.ints(axis))
                          for a, b in ((1, END), (0, -1)))  # fmt: skip
        is_bool = c.meta("self").dtype == DataType.BOOL
        value = c.emit("Xor" if is_bool else "Sub", later, earlier)
    return value


@lowers("flip", "fliplr", "flipud")
def _flip(c: AtenCall) -> str:
    axes = c.axes("dims")
    ends = (c.ints(*[value] * len(axes)) for value in (-1, -END))
    return c.emit("Slice", c.tensor("self"), *ends, c.ints(*axes), c.ints(*[-1] * len(axes)))


@lowers("pixel_shuffle", "pixel_unshuffle")
def _pixel_shuffle(c: AtenCall) -> str:
    if "unshuffle" in c.operator:
        return c.emit("SpaceToDepth", c.tensor("self"), blocksize=c.integer("downscale_factor", 1))
    block = c.integer("upscale_factor", 1)
    return c.emit("DepthToSpace", c.tensor("self"), blocksize=block, mode="CRD")


@lowers("unfold", "unfold_copy")
def _unfold(c: AtenCall) -> str:
    axis, size = c.axis("dimension"), c.integer("size", 1)
    count = c.result.sizes[axis]
    if not isinstance(count, int):
        raise ValueError("a symbolic number of windows")
    places = c.scope.builder.filled((count, size), DataType.INT64)
    windows = c.emit("Gather", c.tensor("self"), places, axis=axis)
    rank = c.result.rank
    order = [*range(axis + 1), *range(axis + 2, rank), axis + 1]
    return windows if order == sorted(order) else c.emit("Transpose", windows, perm=tuple(order))


@lowers("tril", "triu")
def _tril(c: AtenCall) -> str:
    diagonal = c.integer("diagonal", 0)
    return c.emit("Trilu", c.tensor("self"), c.scalar(diagonal, DataType.INT64) if diagonal else "",
                  upper=int("triu" in c.operator))  # fmt: skip


@lowers("diagonal")
def _diagonal(c: AtenCall) -> str:
    sizes, rank = c.meta("self").sizes, c.meta("self").rank
    eye = c.emit("EyeLike", c.tensor("self")) if rank == 2 else ""
    if not eye or sizes[0] != sizes[1]:
        raise ValueError("a diagonal of more than a square matrix")
    masked = c.emit("Mul", c.tensor("self"), eye)
    return c.emit("ReduceSum", masked, c.ints(1), keepdims=0)
