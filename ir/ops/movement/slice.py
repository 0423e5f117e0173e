"""Parts of tensors, and concatenation."""

from __future__ import annotations

from math import prod

from perfc.errors import ShapeError

from ... import (
    Dim,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Natural,
    Op,
    Poly,
    Shape,
    TensorType,
    Traffic,
    Types,
    at_most,
    ceil_div,
    dim_max,
    dim_min,
    frozen,
    has,
    interval,
    known,
    normal_axis,
    same,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import agreed, content, elements, or_data, picked, small_shape
from ...traffic import moved, stored

# a start, an end or a step; None if unknown
Bound = int | Poly | None
FAR = (1 << 31) - 1
"""Positions from here on mean the end of the axis: exporters write the largest integer of 32 or 64
bits for it."""


def _from_front(position: Bound, extent: Dim) -> Dim | None:
    """Return ``position`` counted from the front; None if its sign is unknown."""
    if position is None:
        return None
    lo, hi = interval(position)
    if lo is not None and lo >= 0:
        return position
    if hi is not None and hi < 0:
        return position + extent
    return None


def forward_extent(extent: Dim, start: Bound, end: Bound) -> Dim | None:
    """Return the number of elements from ``start`` up to ``end``, both clamped to the axis.

    None if the sign of a symbolic position is unknown.
    """
    first: Dim | None
    if isinstance(start, int) and start <= -FAR:
        first = 0
    elif isinstance(start, int) and start >= FAR:
        first = extent
    else:
        first = _from_front(start, extent)
    if isinstance(end, int) and end >= FAR:
        last: Dim | None = extent
    elif isinstance(end, int) and end <= -FAR:
        last = 0
    else:
        last = _from_front(end, extent)
    if first is None or last is None:
        return None
    # max(0, min(last, extent) - max(first, 0)), where the difference of the inner minimum and
    # maximum is the least of four differences: in these, symbols can cancel
    return dim_max(0, dim_min(last - first, extent - first, last, extent))


def backward_extent(extent: Dim, start: Bound, end: Bound) -> Dim | None:
    """Return the number of elements from ``start`` down to after ``end``, clamped to the axis.

    None if a sign is unknown, or where runtimes differ: a start before the axis is clamped to 0 as
    ONNX says, or takes nothing as in NumPy; an end of the largest integer is beyond the axis, or
    means no end.
    """
    if extent == 0:
        return 0
    far_start = isinstance(start, int) and start >= FAR
    first = extent - 1 if far_start else _from_front(start, extent)
    # no end: down to position 0, after which the slice ends at -1
    is_open = isinstance(end, int) and end <= -FAR
    last: Dim | None = -1 if is_open else _from_front(end, extent)
    if first is None or last is None or end in (FAR, (1 << 63) - 1):
        return None
    # the start may lie before the axis, where runtimes differ (see above)
    if (interval(first)[0] or 0) < 0:
        # a start that is certain to lie there takes nothing in any runtime unless the end does too
        is_empty = (interval(first)[1] or 0) < 0 and at_most(0, last)
        return 0 if is_empty else None
    return dim_max(0, dim_min(first, extent - 1) - dim_max(last, -1))


def sliced_extent(extent: Dim, start: Bound, end: Bound, step: Bound) -> Dim:
    """Return the extent of ``[start:end:step]``, or a bound of it."""
    if not isinstance(step, int):
        return data_extent(extent)
    if step == 0:
        raise ShapeError("step is 0")
    size = abs(step)
    length = (forward_extent if step > 0 else backward_extent)(extent, start, end)
    if length is not None:
        return length if size == 1 else ceil_div(length, size)
    # only one of start and end may be known: it bounds the length
    longest = extent
    # a backward slice from before the axis has at most element 0, to which some runtimes clamp
    if step < 0 and isinstance(start, int) and at_most(start + extent, -1):
        longest = dim_min(extent, 1)
    elif step > 0 and isinstance(end, int) and 0 <= end < FAR:
        longest = dim_min(extent, end)
    elif step > 0 and isinstance(start, int) and -FAR < start < 0:
        longest = dim_min(extent, -start)
    return data_extent(longest if size == 1 else ceil_div(longest, size))


def positions(extent: int, start: int, end: int, step: int) -> range:
    """Return the positions of a slice on a static axis."""
    length = sliced_extent(extent, start, end, step)
    first = start + extent if start < 0 else start
    # a backward slice starts at the last element at most
    first = max(0, min(first, extent - (step < 0)))
    return range(first, first + step * length, step) if isinstance(length, int) else range(0)


class Part(Op):
    """Part of each operand, copied.

    Shapes:  as each operator says.
    Work:    none.
    Traffic: the elements taken are read and written; the rest of the operand is not touched.
    Source:  ONNX.
    """

    kind = Kind.MOVEMENT

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        sizes = [stored(out) for out in outs]
        return moved(sizes, sizes)


class Slice(Part):
    """A range of positions along some axes, with start, end and step.

    Shapes:  extent = ceil((end - start) / step) after clamping both into the axis; symbolic where
             they are, bounded by the operand's extent where they are not known.
    Source:  ONNX Slice-13.
    """

    mnemonic = "slice"
    onnx = "Slice"
    operands = "data starts ends axes? steps?"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return single(data.dtype, None)
        ranges = self.ranges(ins, len(data.shape))
        if ranges is None:
            return single(data.dtype, tuple(data_extent(d) for d in data.shape))
        dims = list(data.shape)
        for axis, (start, end, step) in ranges.items():
            dims[axis] = sliced_extent(dims[axis], start, end, step)
        return single(data.dtype, tuple(dims))

    def ranges(self, ins: Inputs, rank: int) -> dict[int, tuple[Bound, Bound, Bound]] | None:
        """Return start, end and step by axis; None if the axes are unknown."""
        starts, ends = elements(ins, 1), elements(ins, 2)
        n = len(starts or ends or ())
        # by default the first axes, as many as there are starts or ends
        axes = elements(ins, 3) if has(ins, 3) else None if starts is ends is None else range(n)
        if axes is None or not all(isinstance(a, int) for a in axes):
            return None
        sliced = [normal_axis(a, rank) for a in axes if isinstance(a, int)]
        if len(set(sliced)) < len(sliced):
            raise ShapeError(f"axes {list(axes)} repeat")
        steps = elements(ins, 4) if has(ins, 4) else (1,) * len(sliced)
        # unknown starts, ends or steps are None for each axis
        columns = [c if c is not None else (None,) * len(sliced) for c in (starts, ends, steps)]
        if any(len(c) != len(sliced) for c in columns):
            raise ShapeError(f"starts, ends, axes and steps differ in length: {len(sliced)} axes")
        return dict(zip(sliced, zip(*columns, strict=True), strict=True))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = known(ins, 0)
        if data is None:
            return ()
        ranges = self.ranges(ins, len(data.shape))
        for axis, (start, end, step) in (ranges or {}).items():
            if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
                return ()
            if data is not None:
                data = picked(data, axis, positions(data.shape[axis], start, end, step))
        return () if ranges is None else (data,)


@frozen
class Split(Part):
    """The operand split along one axis.

    Shapes:  extents ``split``, or ``num_outputs`` parts of ceil(d / num_outputs), the last what is
             left, which may be 0.
    Source:  ONNX Split-18.
    """

    mnemonic = "split"
    onnx = "Split"
    operands = "input split?"
    axis: int = 0
    num_outputs: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            n = self.num_outputs or len(elements(ins, 1) or ())
            return (TensorType(data.dtype, None),) * n
        axis = normal_axis(self.axis, len(data.shape))
        before, after = data.shape[:axis], data.shape[axis + 1 :]
        sizes = self.sizes(ins, data.shape[axis])
        return tuple(TensorType(data.dtype, (*before, size, *after)) for size in sizes)

    def sizes(self, ins: Inputs, extent: Dim) -> Shape:
        """Return the extents of the parts of an axis."""
        n = self.num_outputs
        if not has(ins, 1):
            if n < 1:
                return ()
            part = ceil_div(extent, n)
            if isinstance(extent, int) and isinstance(part, int) and extent < part * (n - 1):
                raise ShapeError(f"{n} parts of {part} are more than an extent of {extent}")
            return (part,) * (n - 1) + (dim_max(0, extent - part * (n - 1)),)
        parts = elements(ins, 1)
        if parts is None:
            return tuple(data_extent(extent) for _ in range(n))
        total: Dim = sum((p for p in parts if p is not None), start=0)
        rest = extent - total
        # unknown parts may be the rest, unless the known ones exceed the extent already
        if same(rest, 0) is False and (None not in parts or (interval(rest)[1] or 0) < 0):
            raise ShapeError(f"parts of {total} in all do not make {extent}")
        # a single unknown part is what the others leave; of several, each is at most that
        if parts.count(None) == 1:
            return tuple(rest if p is None else p for p in parts)
        return tuple(or_data(p, rest) for p in parts)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = known(ins, 0)
        if data is None:
            return ()
        axis = normal_axis(self.axis, len(data.shape))
        parts: list[Known | None] = []
        start = 0
        for size in self.sizes(ins, data.shape[axis]):
            if not isinstance(size, int):
                return ()
            parts.append(picked(data, axis, range(start, start + size)))
            start += size
        return tuple(parts)


@frozen
class Concat(Op):
    """Operands concatenated along an axis.

    Shapes:  the extents of that axis add up; the others are equal.
    Work:    none.
    Traffic: each operand read once, the result written once.
    Source:  ONNX Concat-13.
    """

    mnemonic = "concat"
    onnx = "Concat"
    operands = "inputs+"
    kind = Kind.MOVEMENT
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        types = [tensor(ins, i) for i, v in enumerate(ins) if v is not None]
        dtype = types[0].dtype if types else tensor(ins, 0).dtype
        shapes = [t.shape for t in types if t.shape is not None]
        if not shapes:
            return single(dtype, None)
        axis = normal_axis(self.axis, len(shapes[0]))
        # runtimes ignore the other extents of an empty operand
        nonempty = [s for s in shapes if 0 not in s] or shapes[:1]
        dims = list(nonempty[0])
        for shape in shapes:
            if len(shape) != len(dims):
                raise ShapeError(f"ranks {len(dims)} and {len(shape)} differ")
        for shape in nonempty[1:]:
            for i, d in enumerate(shape):
                common = dims[i] if i == axis else agreed(dims[i], d)
                if common is None:
                    raise ShapeError(f"extents {dims[i]} and {d} of axis {i} differ")
                dims[i] = common
        dims[axis] = sum((s[axis] for s in shapes), start=0)
        if len(shapes) < len(types):
            # operands of unknown rank add an unknown extent
            dims[axis] = data_extent(None, max(interval(dims[axis])[0] or 0, 0))
        return single(dtype, tuple(dims))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        if all(v is None or v.known is None for v in ins) or small_shape(outs[0]) is None:
            return ()
        parts = [content(ins, i) for i, v in enumerate(ins) if v is not None]
        # empty operands add nothing
        parts = [p for p in parts if p is None or p.items] or parts[:1]
        first = parts[0]
        if first is None:
            return ()
        axis = normal_axis(self.axis, len(first.shape))
        rows = prod(first.shape[:axis])
        items: list[Item] = []
        for row in range(rows):
            for part in parts:
                if part is None:
                    return ()
                width = len(part.items) // rows
                items += part.items[row * width : (row + 1) * width]
        return (Known.of(small_shape(outs[0]) or (), items),)
