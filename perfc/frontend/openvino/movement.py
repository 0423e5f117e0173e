"""Layers of OpenVINO that move elements, or make shapes.

Each function lowers layers of the kinds that its decorator names: ``c`` is the layer with its
operands, the result the names of the values that it becomes.
"""

from __future__ import annotations

from ..lowering.elements import DataType
from ..lowering.emitter import FARTHEST
from .call import LayerCall, lowers


@lowers("Reshape")
def _reshape(c: LayerCall) -> str:
    if all(isinstance(s, int) for s in c.result().sizes):
        return c.emit("Reshape", c.x, c.shape(c.result().sizes))
    # `special_zero` copies an extent for 0, as ONNX does without `allowzero`
    zero = 1 - c.flag("special_zero")
    return c.emit("Reshape", c.x, c.as_integers(1), allowzero=zero)


@lowers("Squeeze", "Unsqueeze")
def _squeeze(c: LayerCall) -> str:
    axes = c.vector(1) if c.has(1) else ""
    return c.emit(c.layer.kind, c.x, axes)


@lowers("Transpose")
def _transpose(c: LayerCall) -> str:
    # an empty order reverses the axes
    perm = c.integers(1) or [*reversed(range(c.given.rank))]
    return c.emit("Transpose", c.x, perm=tuple(perm))


@lowers("Concat")
def _concat(c: LayerCall) -> str:
    return c.emit("Concat", *c.values(), axis=c.integer("axis"))


@lowers("Split", "VariadicSplit")
def _split(c: LayerCall) -> list[str]:
    (axis,) = c.axes(1)
    count, is_even = len(c.layer.outputs), c.layer.kind == "Split"
    sizes = [o.meta.sizes[axis] for o in c.layer.outputs]
    known = [s for s in sizes if isinstance(s, int)]
    # the declared results may have the extents of parts that the model computes
    parts = "" if is_even else c.ints(*known) if len(known) == count else c.as_integers(2)
    return c.several(
        "Split", (c.x, parts), count, axis=axis, num_outputs=count if is_even else None
    )


@lowers("Slice")
def _slice(c: LayerCall) -> str:
    starts, ends, steps = (c.vector(at) for at in (1, 2, 3))
    axes = c.vector(4) if c.has(4) else c.ints(*range(c.given.rank))
    return c.emit("Slice", c.x, starts, ends, axes, steps)


@lowers("StridedSlice")
def _strided_slice(c: LayerCall) -> str:
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    masks = {n: c.listed(n) for n in names}
    if any(masks["ellipsis_mask"]):
        raise ValueError("an ellipsis")
    value, new = c.x, [i for i, m in enumerate(masks["new_axis_mask"]) if m]
    if new:
        value = c.emit("Unsqueeze", value, c.ints(*new))
    shrunk = [i for i, m in enumerate(masks["shrink_axis_mask"]) if m]
    begins, ends = c.stored(1), c.stored(2)
    if begins is None or ends is None or begins.data is None or ends.data is None:
        if any(masks["begin_mask"]) or any(masks["end_mask"]):
            raise ValueError("a slice with computed ends and masks")
        (count,) = c.meta(1).sizes
        axes = c.ints(*range(count if isinstance(count, int) else 0))
        part = c.emit("Slice", value, c.as_integers(1), c.as_integers(2), axes)
    else:
        columns = _bounds(c, masks, shrunk, new)
        part = (
            c.emit("Slice", value, *(c.ints(*column) for column in columns))
            if columns[0]
            else value
        )
    return c.emit("Squeeze", part, c.ints(*shrunk)) if shrunk else part


def _bounds(
    c: LayerCall, masks: dict[str, tuple[int, ...]], shrunk: list[int], new: list[int]
) -> list[list[int]]:
    """Return the begins, ends, axes and steps of a slice, for the axes that it changes."""
    begins, ends = c.integers(1), c.integers(2)
    steps = c.integers(3) if c.has(3) else [1] * len(begins)
    rows: list[tuple[int, int, int, int]] = []
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        if axis in new:
            continue
        first, last = begin, min(max(end, -FARTHEST), FARTHEST)
        if axis in shrunk:
            # one element; after the last one, at position -1, the end would be 0
            last, step = begin + 1 or FARTHEST, 1
        else:
            if masks["begin_mask"][axis : axis + 1] == (1,):
                first = 0 if step > 0 else FARTHEST
            if masks["end_mask"][axis : axis + 1] == (1,):
                last = FARTHEST if step > 0 else -FARTHEST
        if (first, last, step) != (0, FARTHEST, 1):
            rows.append((first, last, axis, step))
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]


@lowers("Gather", "GatherND", "GatherElements")
def _gather(c: LayerCall) -> str:
    batch = c.integer("batch_dims")
    if c.layer.kind == "GatherND":
        return c.emit("GatherND", c.x, c.as_integers(1), batch_dims=batch)
    if c.layer.kind == "GatherElements":
        return c.emit("GatherElements", c.x, c.value(1), axis=c.integer("axis"))
    if batch:
        raise ValueError("a gather of batches")
    (axis,) = c.axes(2)
    return c.emit("Gather", c.x, c.as_integers(1), axis=axis)


@lowers("ScatterNDUpdate", "ScatterElementsUpdate")
def _scatter(c: LayerCall) -> str:
    if c.layer.kind == "ScatterNDUpdate":
        return c.emit("ScatterND", c.x, c.as_integers(1), c.value(2))
    (axis,) = c.axes(3)
    return c.emit("ScatterElements", *(c.value(at) for at in range(3)), axis=axis)


@lowers("Pad")
def _pad(c: LayerCall) -> str:
    # any other mode pads with a number
    mode = {"edge": "edge", "reflect": "reflect"}.get(c.text("pad_mode"), "constant")
    pads = c.ints(*c.integers(1), *c.integers(2))
    return c.emit("Pad", c.x, pads, c.value(3) if c.has(3) else "", mode=mode)


@lowers("Tile", "Broadcast")
def _expand(c: LayerCall) -> str:
    operator = "Tile" if c.layer.kind == "Tile" else "Expand"
    return c.emit(operator, c.x, c.as_integers(1))


@lowers("ShapeOf")
def _shape_of(c: LayerCall) -> str:
    return c.cast(c.emit("Shape", c.x), DataType.INT64, c.result().dtype)


@lowers("TopK")
def _topk(c: LayerCall) -> list[str]:
    values, indices = c.several(
        "TopK",
        (c.x, c.vector(1)),
        2,
        axis=c.integer("axis", -1),
        largest=int(c.text("mode") != "min"),
        sorted=int(c.text("sort") != "none"),
    )
    to = c.result(1).dtype if len(c.layer.outputs) > 1 else DataType.INT64
    return [values, c.cast(indices, DataType.INT64, to)]


@lowers("OneHot")
def _one_hot(c: LayerCall) -> str:
    # ONNX has one operand of two values: elsewhere and at the index, in OpenVINO operands 3 and 2
    ends = [c.emit("Unsqueeze", c.value(at), c.ints(0)) for at in (3, 2)]
    return c.emit(
        "OneHot", c.x, c.value(1), c.emit("Concat", *ends, axis=0), axis=c.integer("axis", -1)
    )


@lowers("DepthToSpace", "SpaceToDepth")
def _blocks(c: LayerCall) -> str:
    mode = "CRD" if c.text("mode") == "depth_first" else "DCR"
    # SpaceToDepth of ONNX has no mode
    mode_if_any = mode if c.layer.kind == "DepthToSpace" else None
    return c.emit(c.layer.kind, c.x, blocksize=c.integer("block_size", 1), mode=mode_if_any)


@lowers("ReverseSequence")
def _reverse_sequence(c: LayerCall) -> str:
    return c.emit(
        "ReverseSequence",
        c.x,
        c.as_integers(1),
        batch_axis=c.integer("batch_axis"),
        time_axis=c.integer("seq_axis", 1),
    )
