"""ATen operators that move, cut and select elements.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering.builder import Size
from ..lowering.elements import DataType
from .call import LOWERINGS, AtenCall, Lowering, lowers, times
from .sizes import scaled

END = (1 << 63) - 1
"""End of a slice that reaches to the end of its axis."""
MOST_DIFFERENCES = 8
"""Maximum order of a difference along an axis: each order adds three nodes."""
PADDING_MODES = {
    "reflect": "reflect",
    "reflection": "reflect",
    "replicate": "edge",
    "replication": "edge",
    "circular": "wrap",
}
"""Modes of padding of ONNX by those of PyTorch and by the names of its operators."""


def copied(c: AtenCall, value: str) -> str:
    """Return a value copied in the order of its axes."""
    return c.emit("clone", value, domain="aten", dense=1)


def copying(lowering: Lowering) -> Lowering:
    """Return the lowering of an operator that copies what another one views."""

    def lowered(c: AtenCall) -> list[str]:
        made = lowering(c)
        return [copied(c, value) for value in ([made] if isinstance(made, str) else made)]

    return lowered


@lowers(
    "view",
    "reshape",
    "_unsafe_view",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "_reshape_alias",
    "ravel",
    "view_as",
    "reshape_as",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
)
def _view(c: AtenCall) -> str:
    # the same bytes, seen as another element type
    if c.result.dtype != c.given.dtype:
        return c.emit("BitCast", c.x, to=c.result.dtype)
    before, after = c.given.sizes, c.result.sizes
    if c.operator.startswith("unsqueeze"):
        return c.emit("Unsqueeze", c.x, c.ints(c.axis("dim", rank=len(after))))
    # fewer axes without a shape: squeeze, or flatten, which has a first axis
    if len(after) < len(before) and "shape" not in c.args and "size" not in c.args:
        axes = [c.value("dim")] if isinstance(c.value("dim"), int) else c.value("dim")
        axes = axes if axes is not None else [i for i, s in enumerate(before) if s == 1]
        if "start_dim" not in c.args and len(before) - len(after) == len(axes):
            return c.emit("Squeeze", c.x, c.ints(*(a % len(before) for a in axes)))
    given = c.value("size", c.value("shape"))
    if isinstance(given, list) and len(given) == len(after):
        # -1 in the call stands for the inferred extent; its other sizes are exact
        after = tuple([a if s == -1 else s for s, a in zip(given, after, strict=True)])
    return c.reshaped(c.x, before, after)


@lowers("permute")
def _permute(c: AtenCall) -> str:
    return transposed(c, c.axes("dims"))


@lowers("transpose", "swapaxes", "swapdims")
def _transpose(c: AtenCall) -> str:
    names = ("dim0", "dim1") if "dim0" in c.args else ("axis0", "axis1")
    first, second = (c.axis(name) for name in names)
    order = list(range(c.given.rank))
    order[first], order[second] = order[second], order[first]
    return transposed(c, order)


@lowers("t", "numpy_T", "mT", "matrix_H", "adjoint")
def _t(c: AtenCall) -> str:
    rank = c.given.rank
    order = [*range(rank - 2), rank - 1, rank - 2] if rank > 1 else [*range(rank)]
    return transposed(c, order)


@lowers("movedim", "moveaxis")
def _movedim(c: AtenCall) -> str:
    rank = c.given.rank
    source, goal = ([a % rank for a in c.integers(n, ())] for n in ("source", "destination"))
    order = [a for a in range(rank) if a not in source]
    # from the left, so that a later axis does not move an earlier one
    for at, axis in sorted(zip(goal, source, strict=True)):
        order.insert(at, axis)
    return transposed(c, order)


def transposed(c: AtenCall, order: Sequence[int]) -> str:
    """Return the first operand with its axes in another order."""
    if list(order) == sorted(order):
        return c.x
    return c.emit("Transpose", c.x, perm=tuple(order))


@lowers("expand", "expand_as", "broadcast_to")
def _expand(c: AtenCall) -> str:
    return expanded(c, c.x, c.given.sizes, c.result.sizes)


def expanded(c: AtenCall, value: str, before: Sequence[Size], after: Sequence[Size]) -> str:
    """Return a value broadcast to other extents."""
    if tuple(before) == tuple(after):
        return value
    # Expand keeps an extent where 1 is given, so that unchanged sizes need not be computed
    padded = [None] * (len(after) - len(before)) + list(before)
    shape = [1 if b is not None and b == a else a for b, a in zip(padded, after, strict=True)]
    return c.emit("Expand", value, c.extents(shape))


@lowers("repeat", "tile")
def _repeat(c: AtenCall) -> str:
    repeats = c.value("repeats", c.value("dims"))
    before = c.given.sizes
    missing = len(c.result.sizes) - len(before)
    value = c.x
    if missing:
        value = c.emit("Unsqueeze", value, c.ints(*range(missing)))
    # counts are of the last axes: the axes before them are not repeated
    counts = [1] * (len(c.result.sizes) - len(repeats)) + list(repeats)
    if all(n == 1 for n in counts):
        return copied(c, value)
    return c.emit("Tile", value, c.extents(counts))


@lowers("repeat_interleave.self_int")
def _repeat_interleave(c: AtenCall) -> str:
    sizes, count = list(c.given.sizes), c.value("repeats")
    axis = c.axis("dim")
    value = c.emit("Unsqueeze", c.x, c.ints(axis + 1))
    # an axis of repetitions follows the repeated one, and is then merged with it
    before = [*sizes[: axis + 1], 1, *sizes[axis + 1 :]]
    after = [*sizes[: axis + 1], count, *sizes[axis + 1 :]]
    return c.reshaped(expanded(c, value, before, after), after, c.result.sizes)


@lowers("cat", "concat", "concatenate")
def _cat(c: AtenCall) -> str:
    raws = c.raws("tensors")
    metas = [c.scope.meta(raw) for raw in raws]
    # PyTorch ignores empty vectors, whatever the rank of the others
    values = [
        c.cast(c.scope.values[raw], m.dtype, c.result.dtype)
        for raw, m in zip(raws, metas, strict=True)
        if m.sizes != (0,)
    ]
    axis = c.axis("dim", rank=c.result.rank)
    return copied(c, values[0]) if len(values) == 1 else c.emit("Concat", *values, axis=axis)


@lowers("stack")
def _stack(c: AtenCall) -> str:
    axis = c.axis("dim", rank=c.result.rank)
    parts = [c.emit("Unsqueeze", value, c.ints(axis)) for value in c.tensors("tensors")]
    return c.emit("Concat", *parts, axis=axis)


@lowers("hstack", "vstack", "column_stack", "dstack")
def _hstack(c: AtenCall) -> str:
    axis = 0 if "vstack" in c.operator or c.result.rank == 1 else 2 if "dstack" in c.operator else 1
    parts: list[str] = []
    for value, raw in zip(c.tensors("tensors"), c.raws("tensors"), strict=True):
        # column_stack reads a vector as a column, the others as a row
        sizes, after = c.scope.meta(raw).sizes, list(c.result.sizes)
        after[axis] = sizes[axis] if len(sizes) == len(after) else 1
        parts.append(c.reshaped(value, sizes, after))
    return c.emit("Concat", *parts, axis=axis)


@lowers(
    "split",
    "split_with_sizes",
    "chunk",
    "tensor_split",
    "unsafe_split",
    "unsafe_chunk",
    "hsplit",
    "vsplit",
    "dsplit",
)
def _split(c: AtenCall) -> list[str]:
    named = {"hsplit": min(1, c.given.rank - 1), "vsplit": 0, "dsplit": 2}
    axis = named.get(c.operator, c.axis("dim"))
    # the sizes of the results suffice: these operators differ only in how arguments give them
    sizes = [c.scope.meta(raw).sizes[axis] for raw in c.outputs]
    if len(sizes) == 1:
        return [c.x]
    return c.several("Split", (c.x, c.extents(sizes)), len(sizes), axis=axis)


@lowers("unbind")
def _unbind(c: AtenCall) -> list[str]:
    axis, count = c.axis("dim"), len(c.outputs)
    # one part is the tensor without the axis
    parts = [c.x]
    if count > 1:
        parts = c.several("Split", (c.x,), count, axis=axis, num_outputs=count)
    return [c.emit("Squeeze", part, c.ints(axis)) for part in parts]


@lowers("slice", "narrow")
def _slice(c: AtenCall) -> str:
    axis = c.axis("dim")
    if c.given.sizes == c.result.sizes:
        return c.x
    start, end = c.value("start", 0), c.value("end", END)
    if "length" in c.args:
        # narrow has a length in place of an end
        end = c.result.sizes[axis] if start == 0 else ("+", start, c.value("length"))
    return c.emit(
        "Slice",
        c.x,
        c.extents([start]),
        c.extents([end]),
        c.ints(axis),
        c.ints(c.integer("step", 1)),
    )


@lowers("select")
def _select(c: AtenCall) -> str:
    return c.emit("Gather", c.x, c.size(c.value("index", 0)), axis=c.axis("dim"))


@lowers("copy", "fill.Tensor")
def _copy(c: AtenCall) -> str:
    source = "src" if "src" in c.args else "value"
    value = c.operand(source, c.result.dtype)
    value = expanded(c, value, c.meta(source).sizes, c.result.sizes)
    # `copy_` remains a node, as it moves elements; a fill only broadcasts a number
    return c.emit("copy", value, domain="aten") if source == "src" else c.emit("Identity", value)


@lowers("select_scatter", "slice_scatter")
def _replaced(c: AtenCall) -> str:
    """Return a tensor with a part along an axis replaced: what is before it, the part, the rest."""
    axis, value = c.axis("dim"), c.operand("src", c.result.dtype)
    extent = c.result.sizes[axis]
    is_one = c.operator.startswith("select")
    start = c.value("index" if is_one else "start", 0)
    size = 1 if is_one else c.meta("src").sizes[axis]
    # the source of select_scatter lacks the axis, which has extent 1 in the part
    value = c.emit("Unsqueeze", value, c.ints(axis)) if is_one else value
    if c.integer("step", 1) != 1:
        raise ValueError("a part with gaps")
    if isinstance(start, int) and start < 0:
        start = start + extent if isinstance(extent, int) else ("+", extent, start)
    end: Size = ("+", start, size)
    if isinstance(start, int) and isinstance(size, int):
        end = start + size
    elif start == 0:
        end = size
    parts = [
        c.emit("Slice", c.x, c.extents([first]), c.extents([last]), c.ints(axis))
        for first, last in ((0, start), (end, END))
        if last != 0 and first != extent
    ]
    # after the elements before it, if there are any
    parts.insert(int(start != 0), value)
    return c.emit("Concat", *parts, axis=axis) if len(parts) > 1 else c.emit("Identity", value)


@lowers(
    "pad",
    "constant_pad_nd",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "reflection_pad3d",
    "_pad_enum",
)
def _pad(c: AtenCall) -> str:
    given: Sequence[Size] = c.value("pad" if "pad" in c.args else "padding", ())
    rank = c.given.rank
    before: list[Size] = [0] * rank
    after = [*before]
    # PyTorch lists begin and end of the last axis first
    for at in range(len(given) // 2):
        before[rank - 1 - at], after[rank - 1 - at] = given[2 * at], given[2 * at + 1]
    given_mode = c.value("mode") or c.operator.partition("_pad")[0]
    # any other mode pads with a number
    mode = PADDING_MODES.get(given_mode, "constant")
    value = c.number("value", 0) if mode == "constant" else 0
    return c.emit(
        "Pad",
        c.x,
        c.extents([*before, *after]),
        c.scalar(value, c.result.dtype) if value else "",
        mode=mode,
    )


@lowers("roll")
def _roll(c: AtenCall) -> str:
    value = c.x
    for shift, axis in zip(c.value("shifts"), c.axes("dims"), strict=True):
        if not shift:
            continue
        # the last elements come first
        back = c.extents([scaled(-1, shift)])
        ends = [
            c.emit("Slice", value, a, b, c.ints(axis))
            for a, b in ((back, c.ints(END)), (c.ints(0), back))
        ]
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
        later, earlier = (
            c.emit("Slice", value, c.ints(a), c.ints(b), c.ints(axis))
            for a, b in ((1, END), (0, -1))
        )
        is_bool = c.given.dtype == DataType.BOOL
        value = c.emit("Xor" if is_bool else "Sub", later, earlier)
    return value


@lowers("flip", "fliplr", "flipud")
def _flip(c: AtenCall) -> str:
    axes = [int("fliplr" in c.operator)] if "dims" not in c.args else c.axes("dims")
    return reversed_along(c, c.x, axes)


def places_of(c: AtenCall, sizes: Sequence[Size]) -> str:
    """Return an index of these extents: its contents do not change shapes or costs."""
    numbers = [s for s in sizes if isinstance(s, int)]
    if len(numbers) == len(sizes):
        return c.builder.filled(numbers, DataType.INT64)
    return expanded(c, c.scalar(0, DataType.INT64), (), sizes)


def reversed_along(c: AtenCall, value: str, axes: Sequence[int]) -> str:
    """Return a value with its elements in the opposite order along axes."""
    # from the last element to before the first, in steps of -1
    ends = (c.ints(*[end] * len(axes)) for end in (-1, -END))
    return c.emit("Slice", value, *ends, c.ints(*axes), c.ints(*[-1] * len(axes)))


@lowers("pixel_shuffle", "pixel_unshuffle")
def _pixel_shuffle(c: AtenCall) -> str:
    sizes, after = c.given.sizes, c.result.sizes
    value = c.reshaped(c.x, sizes, (times(sizes[:-3]), *sizes[-3:]))
    if "unshuffle" in c.operator:
        shuffled = c.emit("SpaceToDepth", value, blocksize=c.integer("downscale_factor", 1))
    else:
        block = c.integer("upscale_factor", 1)
        shuffled = c.emit("DepthToSpace", value, blocksize=block, mode="CRD")
    return c.reshaped(shuffled, (times(sizes[:-3]), *after[-3:]), after)


@lowers("unfold")
def _unfold(c: AtenCall) -> str:
    axis = c.axis("dimension")
    # windows are a lookup
    places = places_of(c, (c.result.sizes[axis], c.integer("size", 1)))
    windows = c.emit("Gather", c.x, places, axis=axis)
    rank = c.result.rank
    order = [*range(axis + 1), *range(axis + 2, rank), axis + 1]
    return windows if order == sorted(order) else c.emit("Transpose", windows, perm=tuple(order))


@lowers("rot90")
def _rot90(c: AtenCall) -> str:
    axes, turns = c.integers("dims", [0, 1]), c.integer("k", 1) % 4
    order = [*range(c.given.rank)]
    first, second = (a % len(order) for a in axes)
    # a turn by 90 degrees is a flip and a transposition, by 180 degrees two flips
    flipped = {0: [], 1: [second], 2: [first, second], 3: [first]}[turns]
    value = reversed_along(c, c.x, flipped) if flipped else c.x
    order[first], order[second] = order[second], order[first]
    return c.emit("Transpose", value, perm=tuple(order)) if turns % 2 else value


@lowers("broadcast_tensors")
def _broadcast(c: AtenCall) -> list[str]:
    metas = [[c.scope.meta(raw) for raw in raws] for raws in (c.raws("tensors"), c.outputs)]
    return [
        expanded(c, value, before.sizes, after.sizes)
        for value, before, after in zip(c.tensors("tensors"), *metas, strict=True)
    ]


VIEWS = (
    "expand permute select slice split split_with_sizes squeeze transpose unbind unfold unsqueeze "
    "view"
)
LOWERINGS.update({f"{name}_copy": copying(LOWERINGS[name]) for name in VIEWS.split()})
