"""Operators that search: the size of their result often depends on the data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    Dim,
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Op,
    Poly,
    TensorType,
    Traffic,
    Types,
    Work,
    count,
    dim_min,
    first_counted,
    frozen,
    has,
    indices,
    interval,
    known,
    normal_axis,
    same,
    single,
    strides_of,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import arranged, or_data, picked, small_shape
from ...traffic import lesser, moved, stored, taken

I64 = DType.I64


def _truth(item: Item) -> bool | None:
    """Return True if an element is not zero, None if unknown."""
    match item:
        case None:
            return None
        case Poly():
            is_zero = same(item, 0)
            return None if is_zero is None else not is_zero
        case _:
            return bool(item)


def _sort_key(item: Item) -> tuple[float, str]:
    """Return a key that orders numbers by value and strings by text."""
    return (item, "") if isinstance(item, int | float) else (0.0, str(item))


def _true_positions(content: Known | None) -> list[int] | None:
    """Return flat positions of elements that are not zero, None unless all are known."""
    if content is None:
        return None
    truths = [_truth(i) for i in content.items]
    return None if None in truths else [i for i, t in enumerate(truths) if t]


@frozen
class Compress(Op):
    """The slices of an axis, or the elements, for which a condition holds.

    Shapes:  as many as the condition has true entries; at most as many as there are of either.
    Work:    none.
    Traffic: the condition and what is taken are read, the result is written.
    Source:  ONNX Compress-28.
    """

    mnemonic = "compress"
    onnx = "Compress"
    operands = "input condition"
    kind = Kind.GATHER
    axis: int | None = None

    def infer(self, ins: Inputs) -> Types:
        data, condition = tensor(ins, 0), tensor(ins, 1)
        if data.shape is None and self.axis is not None:
            return single(data.dtype, None)
        axis = 0 if self.axis is None else normal_axis(self.axis, len(data.shape or ()))
        extent = data.numel if self.axis is None or data.shape is None else data.shape[axis]
        positions = self._taken(ins, extent)
        hi = lesser(condition.numel, extent)
        taken_extent = or_data(None if positions is None else len(positions), hi)
        if self.axis is None or data.shape is None:
            return single(data.dtype, (taken_extent,))
        return single(data.dtype, (*data.shape[:axis], taken_extent, *data.shape[axis + 1 :]))

    def _taken(self, ins: Inputs, extent: Dim | None) -> list[int] | None:
        """Return the selected positions; a condition may be longer than the axis."""
        condition = known(ins, 1)
        positions = _true_positions(condition)
        if positions is None or condition is None:
            return None
        if isinstance(extent, int):
            return [i for i in positions if i < extent]
        lo = None if extent is None else interval(extent)[0]
        # the extent is unknown or symbolic: only positions below its minimum are surely on the axis
        return positions if not positions or (lo is not None and lo > positions[-1]) else None

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = known(ins, 0)
        if data is None:
            return ()
        axis = 0 if self.axis is None else normal_axis(self.axis, len(data.shape))
        flat = Known((len(data.items),), data.items) if self.axis is None else data
        positions = self._taken(ins, flat.shape[axis])
        return () if positions is None else (picked(flat, axis, positions),)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        read = [taken(tensor(ins, 0), outs[0]), stored(tensor(ins, 1))]
        return moved(read, [stored(outs[0])])


class NonZero(Op):
    """Indices of the elements that are not zero.

    Shapes:  X of rank r -> Y[r, u], u data-dependent, at most the elements of X. For a scalar ONNX
             says r = 0 and onnxruntime 1.
    Work:    {integer}, one comparison per element of X.
    Traffic: X read once, Y written once.
    Source:  ONNX NonZero-13.
    """

    mnemonic = "non_zero"
    onnx = "NonZero"
    operands = "X"
    kind = Kind.SORT
    formulas = {"integer": "e"}

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        positions = _true_positions(known(ins, 0))
        nonzeros = or_data(None if positions is None else len(positions), x.numel)
        # of a scalar ONNX and onnxruntime disagree: 0 or 1
        rank = data_extent() if x.shape is None else len(x.shape) or data_extent(1)
        return single(I64, (rank, nonzeros))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        x = known(ins, 0)
        positions = _true_positions(x)
        if x is None or positions is None or not x.shape:
            return ()
        strides = strides_of(x.shape)
        # position along an axis from the flat one: by its stride, modulo its extent
        axes = list(zip(strides, x.shape, strict=True))
        items = [flat // stride % extent for stride, extent in axes for flat in positions]
        return (Known.of((len(x.shape), len(positions)), items),)

    extents = first_counted


@frozen
class Unique(Op):
    """Unique elements, or unique slices of an axis, and their positions.

    Shapes:  u of them, data-dependent, between 1 and as many as there are (0 of none);
             indices[u], inverse_indices[d], counts[u].
    Work:    alu = e (integer on integers), one comparison per element; a lower bound, for sorting
             takes about e * log2(e).
    Traffic: X read once, results written once.
    Source:  ONNX Unique-28.
    """

    mnemonic = "unique"
    onnx = "Unique"
    operands = "X"
    kind = Kind.SORT
    axis: int | None = None
    sorted: int = 1

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if self.axis is not None and x.shape is None:
            u: Dim = data_extent()
            inverse: Dim = data_extent()
            values = TensorType(x.dtype, None)
        else:
            shape = x.shape or ()
            axis = None if self.axis is None else normal_axis(self.axis, len(shape))
            total = x.numel if axis is None else shape[axis]
            inverse = or_data(total)
            content = self._first(ins)
            # of any elements at least one is unique
            lo = 1 if total is not None and (interval(total)[0] or 0) >= 1 else 0
            u = len(content) if content is not None else or_data(None, total, lo)
            dims = (u,) if axis is None else (*shape[:axis], u, *shape[axis + 1 :])
            values = TensorType(x.dtype, dims)
        return values, *(TensorType(I64, (d,)) for d in (u, inverse, u))

    def _first(self, ins: Inputs) -> dict[tuple[Item, ...], int] | None:
        """Return unique slices with the first position of each, in the order of the result."""
        x = known(ins, 0)
        # NaN is unequal to itself: how often it counts is not defined
        if x is None or any(i is None or isinstance(i, Poly) or i != i for i in x.items):
            return None
        first: dict[tuple[Item, ...], int] = {}
        for position, items in enumerate(self._slices(x)):
            first.setdefault(items, position)
        if self.sorted:
            order = sorted(first, key=lambda items: [_sort_key(i) for i in items])
            return {items: first[items] for items in order}
        return first

    def _slices(self, x: Known) -> list[tuple[Item, ...]]:
        """Return the elements, or the slices of the axis, as tuples."""
        if self.axis is None:
            return [(i,) for i in x.items]
        axis = normal_axis(self.axis, len(x.shape))
        parts = [picked(x, axis, [i]) for i in range(x.shape[axis])]
        # never None: a slice of a tracked tensor is small enough to be tracked
        return [() if part is None else part.items for part in parts]

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        x, first = known(ins, 0), self._first(ins)
        if x is None or first is None:
            return ()
        flat = Known((len(x.items),), x.items) if self.axis is None else x
        axis = 0 if self.axis is None else normal_axis(self.axis, len(x.shape))
        place_of = {items: k for k, items in enumerate(first)}
        inverse = [place_of[items] for items in self._slices(x)]
        counts = [0] * len(first)
        for k in inverse:
            counts[k] += 1
        positions = list(first.values())
        vectors = (Known.vector(v) for v in (positions, inverse, counts))
        return picked(flat, axis, positions), *vectors

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        e = count(tensor(ins, 0))
        return Work(alu=e) if tensor(ins, 0).dtype.is_float else Work(integer=e)


@frozen
class UniqueInOrder(Unique):
    """Unique elements of a vector in order of appearance.

    Shapes:  x[d] -> y[u], idx[d], counts[u] with u data-dependent.
    Source:  ONNX Runtime contrib Unique-1.
    """

    mnemonic = "ms_unique"
    onnx = "com.microsoft::Unique"
    operands = "x"
    sorted: int = 0

    def infer(self, ins: Inputs) -> Types:
        y, _, *others = super().infer(ins)
        return (y, *others)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        y, *others = super().fold(ins, outs) or (None,)
        return (y, *others[1:])


@frozen
class TopK(Op):
    """The k largest or smallest elements along an axis, and their indices.

    Shapes:  X[a..., d, b...] -> Values, Indices[a..., k, b...].
    Work:    alu = e (integer on integers), one comparison per element of X; a lower bound, for a
             heap takes about log2(k) and a sort log2(d) of them.
    Traffic: X read once, both results written once.
    Source:  ONNX TopK-24.
    """

    mnemonic = "top_k"
    onnx = "TopK"
    operands = "X K"
    kind = Kind.SORT
    renamed: ClassVar[Mapping[str, str]] = {"k": "K"}
    axis: int = -1
    largest: int = 1
    sorted: int = 1

    def infer(self, ins: Inputs) -> Types:
        x, k = tensor(ins, 0), known(ins, 1)
        if x.shape is None:
            return TensorType(x.dtype, None), TensorType(I64, None)
        axis = normal_axis(self.axis, len(x.shape))
        extent = x.shape[axis]
        content = None if k is None else k.item
        size = content if isinstance(content, int | Poly) else None
        if isinstance(size, int) and isinstance(extent, int) and not 0 <= size <= extent:
            raise ShapeError(f"k = {size} of {extent} elements")
        shape = (*x.shape[:axis], or_data(size, extent), *x.shape[axis + 1 :])
        return TensorType(x.dtype, shape), TensorType(I64, shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        x, shape = known(ins, 0), small_shape(outs[0])
        if x is None or shape is None:
            return ()
        if any(i is None or isinstance(i, str) or i != i for i in x.items):
            return ()
        axis = normal_axis(self.axis, len(shape))
        strides = strides_of(x.shape)
        # positions along the axis in order of value, by the index of the other axes
        argsorts: dict[tuple[int, ...], list[int]] = {}
        for row in indices((*shape[:axis], *shape[axis + 1 :])):
            base = (*row[:axis], 0, *row[axis:])
            start = sum(p * s for p, s in zip(base, strides, strict=True))
            # elements along the axis are a stride distant from each other
            column = x.items[start : start + x.shape[axis] * strides[axis] : strides[axis]]
            order = _order(column, bool(self.largest))
            if order is None:
                return ()
            argsorts[row] = order

        def place(i: tuple[int, ...]) -> int:
            # the position along the axis in the operand, for index ``i`` of the result
            return argsorts[(*i[:axis], *i[axis + 1 :])][i[axis]]

        values = arranged(x, shape, lambda i: (*i[:axis], place(i), *i[axis + 1 :]))
        return values, Known.of(shape, [place(i) for i in indices(shape)])

    work = Unique.work

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return moved([stored(tensor(ins, 0))], [stored(out) for out in outs])


def _order(column: tuple[Item, ...], largest: bool) -> list[int] | None:
    """Return positions sorted by value, then by position; None if symbols do not decide."""
    keys = [i for i in column if isinstance(i, int | float)]
    if len(keys) == len(column):
        sign = -1 if largest else 1
        return sorted(range(len(column)), key=lambda p: (sign * keys[p], p))
    if not all(isinstance(i, int | Poly) for i in column):
        return None

    def compare(a: int, b: int) -> int:
        # symbolic extents are ordered if the range of their difference has one sign
        difference = column[a] - column[b]  # type: ignore[operator]
        if difference == 0:
            return a - b
        lo, hi = interval(difference)
        if lo is not None and lo >= 0:
            return -1 if largest else 1
        if hi is not None and hi <= 0:
            return 1 if largest else -1
        raise ValueError("undecided")

    try:
        return sorted(range(len(column)), key=cmp_to_key(compare))
    except ValueError:
        return None


@frozen
class NonMaxSuppression(Op):
    """Boxes that remain after dropping those that overlap a better one.

    Shapes:  boxes[b, n, 4], scores[b, c, n] -> selected_indices[u, 3], u at most
             b * c * min(n, max_output_boxes_per_class).
    Work:    {alu}, one comparison per score; a lower bound, for how many overlaps are computed
             depends on the data.
    Traffic: boxes and scores read once, the result written once.
    Source:  ONNX NonMaxSuppression-11.
    """

    mnemonic = "non_max_suppression"
    onnx = "NonMaxSuppression"
    operands = "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?"
    kind = Kind.SORT
    formulas = {"alu": "s"}
    center_point_box: int = 0

    def infer(self, ins: Inputs) -> Types:
        scores = tensor(ins, 1).shape
        limit = known(ins, 2)
        # without the operand ONNX selects no box; None if its content is unknown
        most = 0 if not has(ins, 2) else None if limit is None else limit.item
        if isinstance(most, int) and most <= 0:
            return single(I64, (0, 3))
        if scores is None:
            return single(I64, (data_extent(), 3))
        if len(scores) != 3:
            raise ShapeError(f"scores need rank 3, not {len(scores)}")
        # boxes that may remain per class of each image
        per_class = dim_min(scores[2], most) if isinstance(most, int | Poly) else scores[2]
        return single(I64, (data_extent(scores[0] * scores[1] * per_class), 3))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return moved([stored(tensor(ins, i)) for i in range(2)], [stored(outs[0])])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"s": count(tensor(ins, 1))}
