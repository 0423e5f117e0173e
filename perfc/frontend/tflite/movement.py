"""Operators of TensorFlow Lite that move elements; quantized elements are moved as they are.

Each function lowers calls of the operators that its decorator names. Of the call ``c``, ``value``
and ``bind`` take ``first`` for feature maps with channels before rows, as ONNX has them, and
``real=False`` for elements that are moved without a conversion from quantized to real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ..lowering.elements import DataType
from ..lowering.emitter import FARTHEST, FIRST
from .call import FlatCall, lowers


@lowers("RESHAPE")
def _reshape(c: FlatCall) -> None:
    sizes = c.result().meta.sizes
    # a computed shape is cast to the type that ONNX needs; of constants, the extents of the result
    # come first, as the operand may have -1 where the file has a number
    if c.has(1) and c.tensor(1).data is None:
        shape = c.emit("Cast", c.value(1), to=int(DataType.INT64))
    elif all(isinstance(s, int) for s in sizes):
        shape = c.shape(sizes)
    elif c.has(1):
        shape = c.ints(*c.integers(1))
    else:
        shape = c.shape(sizes)
    c.bind(c.emit("Reshape", c.value(0, real=False), shape), real=False)


@lowers("SQUEEZE", "EXPAND_DIMS")
def _squeeze(c: FlatCall) -> None:
    if c.operator == "EXPAND_DIMS":
        (axis,) = c.integers(1)
        result = c.emit("Unsqueeze", c.value(0, real=False), c.ints(axis))
    else:
        result = c.emit("Reshape", c.value(0, real=False), c.shape(c.result().meta.sizes))
    c.bind(result, real=False)


@lowers("TRANSPOSE")
def _transpose(c: FlatCall) -> None:
    c.bind(c.emit("Transpose", c.value(0, real=False), perm=tuple(c.integers(1))), real=False)


@lowers("CONCATENATION")
def _concatenation(c: FlatCall) -> None:
    ats, rank = range(len(c.inputs)), c.result().rank
    axis, first = c.option("axis") % (rank or 1), c.can_be_first(range(len(c.inputs)))
    operands = [c.tensor(at) for at in ats]
    # if an operand and the result have different scales, elements are not only moved
    real = any(t.scales != c.result().scales or t.zeros != c.result().zeros for t in operands)
    values = [c.value(at, first=first, real=real) for at in ats]
    result = c.emit("Concat", *values, axis=FIRST.index(axis) if first else axis)
    c.bind(result, first=first, real=real)


@lowers("PACK", "UNPACK")
def _pack(c: FlatCall) -> None:
    axis = c.option("axis")
    if c.operator == "PACK":
        parts = [
            c.emit("Unsqueeze", c.value(at, real=False), c.ints(axis))
            for at in range(len(c.inputs))
        ]
        c.bind(c.emit("Concat", *parts, axis=axis), real=False)
        return
    count = len(c.outputs)
    result = c.several("Split", (c.value(0, real=False),), count, axis=axis, num_outputs=count)
    for at, part in enumerate(result):
        c.bind(c.emit("Squeeze", part, c.ints(axis)), at, real=False)


@lowers("SPLIT", "SPLIT_V")
def _split(c: FlatCall) -> None:
    # operands of SPLIT: axis and value; of SPLIT_V: value, extents of the parts and axis
    is_even = c.operator == "SPLIT"
    at, count = (1 if is_even else 0), len(c.outputs)
    rank = c.tensor(at).rank
    axis = c.integers(0 if is_even else 2)[0] % (rank or 1)
    first = c.can_be_first((at,))
    sizes = "" if is_even else c.ints(*c.integers(1))
    result = c.several(
        "Split",
        (c.value(at, first=first, real=False), sizes),
        count,
        axis=FIRST.index(axis) if first else axis,
        num_outputs=count if is_even else None,
    )
    for place, part in enumerate(result):
        c.bind(part, place, first=first, real=False)


@lowers("GATHER", "EMBEDDING_LOOKUP", "GATHER_ND")
def _gather(c: FlatCall) -> None:
    if c.operator == "EMBEDDING_LOOKUP":
        # indices first, then the table
        c.bind(c.emit("Gather", c.value(1, real=False), c.value(0), axis=0), real=False)
        return
    if c.operator == "GATHER_ND":
        indices = c.emit("Cast", c.value(1), to=int(DataType.INT64))
        c.bind(c.emit("GatherND", c.value(0, real=False), indices), real=False)
        return
    if c.option("batch"):
        raise ValueError("a gather of batches")
    axis = c.option("axis")
    c.bind(c.emit("Gather", c.value(0, real=False), c.value(1), axis=axis), real=False)


@lowers("SLICE")
def _slice(c: FlatCall) -> None:
    begins, counts = c.integers(1), c.integers(2)
    ends = [FARTHEST if n < 0 else b + n for b, n in zip(begins, counts, strict=True)]
    _sliced(c, begins, ends, [1] * len(begins))


def _sliced(c: FlatCall, begins: list[int], ends: list[int], steps: list[int]) -> None:
    """Bind a part of the first operand; bounds are by axis, in the order of the file.

    An end beyond its axis counts as the end of the axis.
    """
    first = c.can_be_first((0,))
    order: Sequence[int] = FIRST if first else range(len(begins))
    # axes that are taken whole need no bounds
    selected = [a for a in order if (begins[a], ends[a], steps[a]) != (0, FARTHEST, 1)]
    axes = [tuple(order).index(a) for a in selected]
    result = c.value(0, first=first, real=False)
    if selected:
        columns = [[column[a] for a in selected] for column in (begins, ends, steps)]
        result = c.emit(
            "Slice",
            result,
            c.ints(*columns[0]),
            c.ints(*columns[1]),
            c.ints(*axes),
            c.ints(*columns[2]),
        )
    if c.result().rank < c.tensor(0).rank:
        shrunk = [a for a in range(len(begins)) if c.option("shrink") >> a & 1]
        result = c.emit("Squeeze", result, c.ints(*[tuple(order).index(a) for a in shrunk]))
        # the other axes of a map [n, c, h, w] have the order of the file only without these axes;
        # without the batch alone, a transposition restores it
        if first and sorted(shrunk) not in ([0], [3], [1, 2], [0, 1, 2]):
            raise ValueError("an axis of an image is dropped")
        if first and sorted(shrunk) == [0]:
            result = c.emit("Transpose", result, perm=(1, 2, 0))
        first = False
    c.bind(result, first=first, real=False)


@lowers("STRIDED_SLICE")
def _strided_slice(c: FlatCall) -> None:
    if c.option("ellipsis") or c.option("new"):
        raise ValueError("an ellipsis or a new axis")
    if c.tensor(1).data is None or c.tensor(2).data is None:
        _computed_slice(c)
        return
    begins, ends, steps = (c.integers(at) for at in (1, 2, 3))
    for axis, step in enumerate(steps):
        # each of the three masks has a bit per axis: drop the axis, ignore its begin or its end
        if c.option("shrink") >> axis & 1:
            # one element; after the last one, at position -1, the end would be 0
            ends[axis] = begins[axis] + 1 or FARTHEST
            steps[axis] = 1
            continue
        if c.option("begin") >> axis & 1:
            begins[axis] = 0 if step > 0 else FARTHEST
        if c.option("end") >> axis & 1:
            ends[axis] = FARTHEST if step > 0 else -FARTHEST
    _sliced(c, begins, ends, steps)


def _computed_slice(c: FlatCall) -> None:
    """Bind a slice whose bounds are computed."""
    if c.option("shrink") or c.option("begin") or c.option("end"):
        raise ValueError("a slice with computed ends and masks")
    axes = c.ints(*range(c.tensor(0).rank))
    ends = [c.value(at) for at in (1, 2)]
    c.bind(c.emit("Slice", c.value(0, real=False), *ends, axes, c.value(3)), real=False)


@lowers("PAD", "PADV2", "MIRROR_PAD")
def _pad(c: FlatCall) -> None:
    # begin and end by axis; ONNX has all begins first
    margins, rank = c.integers(1), c.tensor(0).rank
    first = c.can_be_first((0,))
    pairs = list(zip(margins[::2], margins[1::2], strict=True))
    ordered = [pairs[a] for a in (FIRST if first else range(rank))]
    pads = c.ints(*chain((b for b, _ in ordered), (e for _, e in ordered)))
    mode = "reflect" if c.operator == "MIRROR_PAD" else "constant"
    value = c.value(2, real=False) if c.operator == "PADV2" else ""
    result = c.emit("Pad", c.value(0, first=first, real=False), pads, value, mode=mode)
    c.bind(result, first=first, real=False)


@lowers("TILE", "BROADCAST_TO", "FILL")
def _expand(c: FlatCall) -> None:
    # positions of the value and of the extents or repeats: FILL has the extents first
    value, sizes = (1, 0) if c.operator == "FILL" else (0, 1)
    is_known = c.has(sizes) and c.tensor(sizes).data is not None
    shape = (
        c.ints(*c.integers(sizes))
        if is_known
        else c.emit("Cast", c.value(sizes), to=int(DataType.INT64))
    )
    operator = "Tile" if c.operator == "TILE" else "Expand"
    c.bind(c.emit(operator, c.value(value, real=False), shape), real=False)


@lowers("SHAPE")
def _shape(c: FlatCall) -> None:
    # extents are in the order of the file, also of a channels-first map
    result = c.emit("Shape", c.value(0, first=c.is_first, real=False))
    result = c.emit("Gather", result, c.ints(0, 2, 3, 1), axis=0) if c.is_first else result
    c.bind(c.cast(result, DataType.INT64, c.result().meta.dtype), real=False)


@lowers("RANK")
def _rank(c: FlatCall) -> None:
    c.named(c.scalar(c.tensor(0).rank, DataType.INT32), 0)


@lowers("TOPK_V2")
def _topk(c: FlatCall) -> None:
    count = c.emit("Cast", c.emit("Reshape", c.value(1), c.ints(1)), to=int(DataType.INT64))
    values, indices = c.several("TopK", (c.value(0), count), 2)
    c.bind(values)
    c.bind(c.emit("Cast", indices, to=int(DataType.INT32)), 1)


@lowers("ONE_HOT")
def _one_hot(c: FlatCall) -> None:
    # ONNX has one operand of two values: elsewhere and at the index, in TensorFlow Lite 3 and 2
    ends = [c.emit("Unsqueeze", c.value(at), c.ints(0)) for at in (3, 2)]
    values = c.emit("Concat", *ends, axis=0)
    c.bind(c.emit("OneHot", c.value(0), c.value(1), values, axis=c.option("axis", -1)))


@lowers("WHERE")
def _where(c: FlatCall) -> None:
    c.bind(c.emit("Transpose", c.emit("NonZero", c.value(0)), perm=(1, 0)))


@lowers("REVERSE_V2")
def _reverse(c: FlatCall) -> None:
    axes = c.axes(1)
    ones = c.ints(*[-1] * len(axes))
    result = c.emit(
        "Slice", c.value(0, real=False), ones, c.ints(*[-FARTHEST] * len(axes)), c.ints(*axes), ones
    )
    c.bind(result, real=False)
