"""Operations of StableHLO and CHLO as operators of ONNX.

``first`` is True where an operation works on channels-first feature maps, as ONNX has them;
``small`` are the extents of a value before it is broadcast to those of the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import chain

from perfc.common.fitted import data_next_to

from ..lowering.builder import Size
from ..lowering.elements import DataType, packed
from ..lowering.emitter import FIRST
from .call import LOWERINGS, HloCall, lowers

_TABLE = data_next_to(__file__)
ELEMENTWISE: Mapping[str, str] = _TABLE["elementwise"]
LOGICAL: Mapping[str, tuple[str, str]] = _TABLE["logical"]
COMPARISONS: Mapping[str, str] = _TABLE["comparisons"]
REDUCTIONS: Mapping[str, str] = _TABLE["reductions"]
"""Operators of ONNX by operation; those of `COMPARISONS` by direction. `LOGICAL` has two for each
operation: one for truth values and one for whole numbers."""


def _elementwise(operator: str, c: HloCall) -> None:
    """Bind the result of one operator of ONNX, which broadcasts its operands itself."""
    operands, first, small = c.elementwise(range(len(c.inputs)))
    c.bind(c.emit(operator, *operands), first=first, small=small)


LOWERINGS.update({k: partial(_elementwise, v) for k, v in ELEMENTWISE.items()})


@lowers("rsqrt", "log_plus_one", "exponential_minus_one", "cbrt", "square", *LOGICAL)
def _composite(c: HloCall) -> None:
    name = c.op["name"].partition(".")[2]
    operands, first, small = c.elementwise(range(len(c.inputs)))
    dtype = c.result().dtype
    match name:
        case "rsqrt":
            result = c.emit("Reciprocal", c.emit("Sqrt", *operands))
        case "log_plus_one":
            result = c.emit("Log", c.emit("Add", *operands, c.scalar(1, dtype)))
        case "exponential_minus_one":
            result = c.emit("Sub", c.emit("Exp", *operands), c.scalar(1, dtype))
        case "cbrt":
            result = c.emit("Pow", *operands, c.scalar(1 / 3, dtype))
        case "square":
            result = c.emit("Mul", *operands * 2)
        case _:
            # the second operator is that of whole numbers
            result = c.emit(LOGICAL[name][dtype != DataType.BOOL], *operands)
    c.bind(result, first=first, small=small)


@lowers("compare")
def _compare(c: HloCall) -> None:
    operands, first, small = c.elementwise(range(2))
    # as in #stablehlo<comparison_direction LT>
    direction = re.findall(r"[A-Z]{2}\b", c.attribute("comparison_direction"))[-1]
    result = c.emit(COMPARISONS.get(direction, "Equal"), *operands)
    c.bind(c.emit("Not", result) if direction == "NE" else result, first=first, small=small)


@lowers("clamp")
def _clamp(c: HloCall) -> None:
    (low, value, high), first, small = c.elementwise(range(3))
    c.bind(c.emit("Min", c.emit("Max", value, low), high), first=first, small=small)


@lowers("convert")
def _convert(c: HloCall) -> None:
    operands, first, small = c.elementwise(range(1))
    c.bind(c.emit("Cast", *operands, to=c.result().dtype), first=first, small=small)


@lowers("optimization_barrier")
def _same(c: HloCall) -> None:
    for at in range(len(c.inputs)):
        c.bind(c.value(at), at)


@lowers("constant")
def _constant(c: HloCall) -> None:
    meta, values, builder = c.result(), c.attribute("value"), c.builder
    number = c.op["out"][0][0]
    c.scope.metas[number] = meta
    if isinstance(values, list) and values and len(set(map(repr, values))) == 1:
        # equal elements are a scalar that is not broadcast yet
        scalar = c.scalar(values[0], meta.dtype)
        c.scope.small[number] = scalar, ()
        if not meta.sizes:
            c.scope.plain[number] = scalar
        return
    name = c.scope.plain[number] = builder.fresh("constant")
    payload = packed(values, meta.dtype) if isinstance(values, list) else None
    builder.stored(name, meta, is_parameter=payload is None and meta.is_float, payload=payload)


@lowers("broadcast_in_dim", "dynamic_broadcast_in_dim")
def _broadcast(c: HloCall) -> None:
    number, sizes = c.inputs[0], c.result().sizes
    value, given = c.scope.small.get(number) or (c.x, c.given.sizes)
    dims = c.attribute("broadcast_dimensions", [])
    if not given:
        c.bind(value, small=())
        return
    small: list[Size] = [1] * len(sizes)
    for axis, size in zip(dims, given, strict=True):
        small[axis] = size
    # ONNX broadcasts over axes in front, but later nodes expect as many axes as the result has
    is_last = list(dims) == [*range(len(sizes) - len(given), len(sizes))]
    if not is_last or len(given) < len(sizes):
        value = c.emit("Reshape", value, c.shape(small))
    c.bind(value, small=small)


@lowers("reshape", "dynamic_reshape")
def _reshape(c: HloCall) -> None:
    sizes = c.result().sizes
    # a scalar that is not broadcast yet remains a scalar, whatever the extents
    if c.inputs[0] in c.scope.small and not c.scope.small[c.inputs[0]][1]:
        c.bind(c.scope.small[c.inputs[0]][0], small=())
        return
    is_known = sum(s is None for s in sizes) <= 1 or len(c.inputs) < 2
    shape = c.shape(sizes) if is_known else c.as_integers(1)
    c.bind(c.emit("Reshape", c.x, shape))


@lowers("transpose")
def _transpose(c: HloCall) -> None:
    c.bind(c.emit("Transpose", c.x, perm=tuple(c.attribute("permutation"))))


@lowers("concatenate")
def _concatenate(c: HloCall) -> None:
    axis, ats = c.attribute("dimension"), range(len(c.inputs))
    if c.is_first and c.result().rank == 4:
        result = c.emit("Concat", *(c.map_value(at) for at in ats), axis=FIRST.index(axis))
        c.bind(result, first=True)
    else:
        c.bind(c.emit("Concat", *(c.value(at) for at in ats), axis=axis))


@lowers("slice")
def _slice(c: HloCall) -> None:
    starts, ends, steps = (c.attribute(n) for n in ("start_indices", "limit_indices", "strides"))
    first = c.is_first and c.result().rank == 4
    order = FIRST if first else tuple(range(len(starts)))
    columns = [[column[a] for a in order] for column in (starts, ends, steps)]
    value = c.map_value(0) if first else c.x
    axes = c.ints(*range(len(starts)))
    result = c.emit(
        "Slice", value, c.ints(*columns[0]), c.ints(*columns[1]), axes, c.ints(*columns[2])
    )
    c.bind(result, first=first)


@lowers("pad")
def _pad(c: HloCall) -> None:
    low, high = c.attribute("edge_padding_low"), c.attribute("edge_padding_high")
    if any(c.attribute("interior_padding", [])):
        raise ValueError("padding between elements")
    first = c.is_first and c.result().rank == 4
    order = FIRST if first else tuple(range(len(low)))
    pads = c.ints(*chain((low[a] for a in order), (high[a] for a in order)))
    value = c.map_value(0) if first else c.x
    c.bind(c.emit("Pad", value, pads, c.value(1), mode="constant"), first=first)


@lowers("get_dimension_size")
def _dimension_size(c: HloCall) -> None:
    axis = c.attribute("dimension")
    first = c.is_first and c.given.rank == 4
    value = c.map_value(0) if first else c.x
    at = c.scalar(FIRST.index(axis) if first else axis, DataType.INT64)
    result = c.emit("Gather", c.emit("Shape", value), at, axis=0)
    c.bind(c.emit("Cast", result, to=c.result().dtype))


@lowers("iota")
def _iota(c: HloCall) -> None:
    meta, axis = c.result(), c.attribute("iota_dimension", 0)
    length = meta.sizes[axis]
    if not isinstance(length, int):
        raise ValueError("an unknown extent")
    # elements are not needed: a stored vector stands for 0, 1, 2, …
    name = c.builder.filled((length,), meta.dtype)
    small = [length if a == axis else 1 for a in range(meta.rank)]
    c.bind(c.emit("Reshape", name, c.ints(*small)), small=small)


@lowers("reduce")
def _reduce(c: HloCall) -> None:
    body, dims = c.op["regions"][0]["ops"], c.attribute("dimensions")
    # one half of the operands are tensors, the other half initial values
    count = len(c.inputs) // 2
    # once height and width are reduced, batch and channels are in the same order in both layouts
    first = c.is_first and c.given.rank == 4 and {1, 2} <= set(dims)
    axes = sorted(FIRST.index(a) for a in dims) if first else dims
    value = c.map_value(0) if first else c.x
    if count == 1:
        operator = REDUCTIONS[body[0]["name"].partition(".")[2]]
        c.bind(c.reduced(operator, value, c.given.dtype, axes))
        return
    if count != 2 or len(axes) != 1:
        raise ValueError("a reduction of several tensors")
    # JAX writes argmax as a reduction of two tensors: the elements and their positions
    c.bind(c.emit("ReduceMax", value, c.ints(*axes), keepdims=0))
    result = c.emit("ArgMax", value, axis=axes[0], keepdims=0)
    c.bind(c.emit("Cast", result, to=c.result(1).dtype), 1)


@lowers("reduce_window")
def _reduce_window(c: HloCall) -> None:
    window, rank = c.attribute("window_dimensions"), c.given.rank
    strides = c.attribute("window_strides", [1] * rank)
    padding = c.attribute("padding", [0] * 2 * rank)
    operation = c.op["regions"][0]["ops"][0]["name"].partition(".")[2]
    # ONNX has no sum over windows: an average stands for it, which has the same additions
    operator = {"add": "AveragePool", "maximum": "MaxPool"}[operation]
    # [batch, height, width, channels], or [batch, channels, ...] of any rank
    first = rank == 4 and window[0] == window[3] == 1
    if not first and (rank < 3 or window[0] != 1 or window[1] != 1):
        raise ValueError("a window over batch or channels")
    axes = (1, 2) if first else range(2, rank)
    value = c.map_value(0) if first else c.x
    result = c.emit(
        operator,
        value,
        kernel_shape=tuple(window[a] for a in axes),
        strides=tuple(strides[a] for a in axes),
        pads=tuple(padding[2 * a] for a in axes) + tuple(padding[2 * a + 1] for a in axes),
        count_include_pad=1 if operation == "add" else None,
    )
    c.bind(result, first=first)


@lowers("convolution", "dynamic_conv")
def _convolution(c: HloCall) -> None:
    # layouts of input, weights and result, as in [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], with
    # digits for spatial axes
    layouts = [t.split(", ") for t in re.findall(r"\[([^\]]*)\]", c.attribute("dimension_numbers"))]
    space = [str(i) for i in range(len(layouts[0]) - 2)]
    orders = [
        [layout.index(t) for t in (*names, *space)]
        for layout, names in zip(layouts, ("bf", "oi", "bf"), strict=True)
    ]
    count, first = len(space), orders[0] == list(FIRST)
    value = c.map_value(0) if first else c.emit("Transpose", c.x, perm=tuple(orders[0]))
    weight = c.emit("Transpose", c.value(1), perm=tuple(orders[1]))
    padding = c.attribute("padding", [0] * 2 * count)
    attrs = {
        "group": c.attribute("feature_group_count", 1),
        "pads": tuple(padding[::2]) + tuple(padding[1::2]),
        "dilations": tuple(c.attribute("rhs_dilation", [1] * count)),
    }
    gaps = c.attribute("lhs_dilation", [1] * count)
    if any(s != 1 for s in gaps):
        raise ValueError("a transposed convolution")
    result = c.emit(
        "Conv", value, weight, strides=tuple(c.attribute("window_strides", [1] * count)), **attrs
    )
    if orders[2] == list(FIRST):
        c.bind(result, first=True)
        return
    order = tuple(orders[2].index(a) for a in range(count + 2))
    c.bind(c.emit("Transpose", result, perm=order))


def _numbers(text: str) -> dict[str, list[int]]:
    """Return the lists of whole numbers of an attribute by name."""
    return {
        name: [int(v) for v in re.findall(r"\d+", values)]
        for name, values in re.findall(r"(\w+) = \[([^\]]*)\]", text)
    }


@lowers("dot_general", "dot")
def _dot(c: HloCall) -> None:
    listed = _numbers(c.attribute("dot_dimension_numbers", ""))
    ranks = c.given.rank, c.meta(1).rank
    # by operand: the axes that both have in common, and the axes that products are summed over
    batches = [listed.get(f"{s}_batching_dimensions", []) for s in ("lhs", "rhs")]
    sums = [
        listed.get(f"{s}_contracting_dimensions", d)
        for s, d in (("lhs", [ranks[0] - 1]), ("rhs", [0]))
    ]
    if batches[0] == batches[1] == [*range(len(batches[0]))] and len(sums[0]) == 1:
        count = len(batches[0])
        # a product of matrices: ONNX contracts the last axis of the first operand and the last but
        # one of the second, to which the second is transposed
        is_row = sums[0][0] == ranks[0] - 1 and (not count or ranks[0] == count + 2)
        if is_row and ranks[1] == count + 2 and ranks[0] > 1:
            right = c.value(1)
            if sums[1][0] == count + 1:
                order = (*range(count), count + 1, count)
                right = c.emit("Transpose", right, perm=order)
            c.bind(c.emit("MatMul", c.x, right))
            return
    # any other contraction is an Einsum: a letter for each pair of axes, and for each free axis
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    sides: list[list[str]] = [[""] * ranks[0], [""] * ranks[1]]
    for left_axis, right_axis in chain(zip(*batches, strict=True), zip(*sums, strict=True)):
        sides[0][left_axis] = sides[1][right_axis] = next(letters)
    batch = [sides[0][a] for a in batches[0]]
    free = []
    for side in sides:
        for axis, letter in enumerate(side):
            if not letter:
                side[axis] = next(letters)
                free.append(side[axis])
    equation = f"{''.join(sides[0])},{''.join(sides[1])}->{''.join(batch + free)}"
    c.bind(c.emit("Einsum", c.x, c.value(1), equation=equation))


@lowers("gather")
def _gather(c: HloCall) -> None:
    """Return rows of a table by whole numbers; other gathers have no lowering."""
    sizes, slices = c.given.sizes, c.attribute("slice_sizes")
    listed = _numbers(c.attribute("dimension_numbers"))
    (axis,) = listed["start_index_map"]
    is_rows = listed.get("collapsed_slice_dims") == [axis] and all(
        s == size for a, (s, size) in enumerate(zip(slices, sizes, strict=True)) if a != axis
    )
    # each index selects one whole row along the first axis
    if not is_rows or axis or slices[0] != 1:
        raise ValueError("no rows of a table")
    indices = c.meta(1)
    places = c.value(1)
    # the last axis has the coordinates of an index, here a single one
    if indices.sizes and indices.sizes[-1] == 1:
        places = c.emit("Squeeze", places, c.ints(indices.rank - 1))
    c.bind(c.emit("Gather", c.x, places, axis=0))


@lowers("dynamic_slice")
def _dynamic_slice(c: HloCall) -> None:
    """Return a part that begins at computed positions."""
    result, sizes = c.x, c.attribute("slice_sizes")
    for axis, (size, whole) in enumerate(zip(sizes, c.given.sizes, strict=True)):
        if size == whole:
            continue
        first = c.emit("Unsqueeze", c.as_integers(1 + axis), c.ints(0))
        if size == 1:
            result = c.emit("Gather", result, first, axis=axis)
        else:
            end = c.emit("Add", first, c.ints(size))
            result = c.emit("Slice", result, first, end, c.ints(axis))
    c.bind(result if result != c.x else c.emit("Identity", result))


@lowers("dynamic_update_slice")
def _dynamic_update_slice(c: HloCall) -> None:
    """Write one row at a computed position of the first axis; others have no lowering."""
    sizes, rows = c.given.sizes, c.meta(1).sizes
    if sizes[1:] != rows[1:] or rows[:1] != (1,):
        raise ValueError("no row")
    at = c.emit("Unsqueeze", c.as_integers(2), c.ints(0, 1))
    c.bind(c.emit("ScatterND", c.x, at, c.value(1)))
