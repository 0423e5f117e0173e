"""A tensor split into a sequence, and a sequence concatenated: the data are moved."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.errors import ShapeError

from ... import (
    Dim,
    DType,
    Folded,
    Inputs,
    Kind,
    Known,
    Op,
    SequenceType,
    TensorType,
    Traffic,
    Type,
    Types,
    Value,
    ceil_div,
    dim_max,
    dim_sum,
    frozen,
    has,
    interval,
    known,
    normal_axis,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import agreed, elements, or_data, picked, small_shape
from ...tensors.join import all_items, is_data_dependent, sequence_type, upper
from ...tensors.types import MAX_ITEMS
from ...traffic import moved, stored
from ..movement.slice import Concat
from .container import contents_of, sequence, sequence_contents


@frozen
class SplitToSequence(Op):
    """A sequence of parts of a tensor, split along an axis.

    Shapes:  parts of ``split`` (one number, or one for each part), by default of 1; without
             ``split`` and ``keepdims`` the axis goes.
    Work:    none.
    Traffic: the operand read and the parts written once.
    Source:  ONNX SplitToSequence-24.
    """

    mnemonic = "split_to_sequence"
    onnx = "SplitToSequence"
    operands = "input split?"
    kind = Kind.CONTAINER
    axis: int = 0
    keepdims: int = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return (SequenceType(TensorType(data.dtype, None), None),)
        axis = normal_axis(self.axis, len(data.shape))
        before, after = data.shape[:axis], data.shape[axis + 1 :]
        extent = data.shape[axis]
        if not has(ins, 1):
            middle: tuple[Dim, ...] = (1,) if self.keepdims else ()
            elem = TensorType(data.dtype, (*before, *middle, *after))
            # a sequence type lists the types of its first parts only
            n = min(extent, MAX_ITEMS) if isinstance(extent, int) else 0
            return (sequence_type(elem, extent, (elem,) * n),)
        size, length, parts = self._parts(ins, extent)
        elem, *items = [TensorType(data.dtype, (*before, p, *after)) for p in (size, *parts)]
        return (sequence_type(elem, length, items),)

    def _parts(self, ins: Inputs, extent: Dim) -> tuple[Dim, Dim | None, Sequence[Dim]]:
        """Return an extent for the type of all parts, the number of parts, and known extents.

        Parts of different extents have a data-dependent extent in their common type. The known
        extents are those of the first `MAX_ITEMS` parts, or none.
        """
        given, rank = elements(ins, 1), tensor(ins, 1).rank
        split = known(ins, 1)
        # nothing is known of the parts, or not whether `split` is a scalar or a list
        if given is None or (rank is None and split is None):
            return data_extent(upper(extent)), None, ()
        # a scalar is the extent of every part but the last
        if rank == 0 or (split is not None and not split.shape):
            part = given[0]
            if part is None:
                return data_extent(upper(extent)), None, ()
            if (interval(part)[0] or 0) < 1:
                raise ShapeError(f"parts of {part}")
            if extent % part == 0:
                return part, extent // part, ()
            first: list[Dim] = []
            if isinstance(extent, int) and isinstance(part, int):
                starts = range(0, min(extent, part * MAX_ITEMS), part)
                first = [min(part, extent - start) for start in starts]
            return data_extent(upper(part), 1), ceil_div(extent, part), first
        # a list has the extent of each part
        parts = [or_data(g, upper(extent)) for g in given]
        if not parts:
            return extent, 0, ()
        if all(p == parts[0] for p in parts):
            return parts[0], len(parts), parts
        # the common type has an extent between the smallest and the largest part
        limits = [upper(p) for p in parts]
        bounds = [h for h in limits if h is not None]
        largest = dim_max(*bounds) if len(bounds) == len(parts) else None
        covering = data_extent(largest, min(max(interval(p)[0] or 0, 0) for p in parts))
        return covering, len(parts), parts

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, result = known(ins, 0), outs[0]
        # types of all parts, None if a part is unknown
        types = all_items(result) if isinstance(result, SequenceType) else None
        if data is None or types is None:
            return ()
        axis = normal_axis(self.axis, len(data.shape))
        parts: list[Known | None] = []
        start = 0
        for type_ in types:
            shape = small_shape(type_)
            if shape is None:
                return ()
            # without `keepdims` a part has lost the axis
            size = shape[axis] if len(shape) == len(data.shape) else 1
            if start + size > data.shape[axis]:
                return ()
            part = picked(data, axis, range(start, start + size))
            parts.append(None if part is None else Known(shape, part.items))
            start += size
        return (sequence_contents(parts),)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        data = stored(tensor(ins, 0))
        return moved([data], [data])


@frozen
class ConcatFromSequence(Op):
    """The elements of a sequence concatenated, or stacked along a new axis.

    Shapes:  the length times the elements' extent where all have the same; stacked, the length.
    Work:    none.
    Traffic: the elements read and the result written once.
    Source:  ONNX ConcatFromSequence-11.
    """

    mnemonic = "concat_from_sequence"
    onnx = "ConcatFromSequence"
    operands = "input_sequence"
    kind = Kind.MOVEMENT
    axis: int = 0
    new_axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        type_ = sequence(ins)
        elem, length = type_.elem, type_.length
        items = all_items(type_)
        if items:
            joined = self._joined(items)
            if joined is not None:
                return (joined,)
        if not isinstance(elem, TensorType):
            return single(DType.UNKNOWN, None)
        if elem.shape is None:
            return single(elem.dtype, None)
        if self.new_axis:
            axis = normal_axis(self.axis, len(elem.shape) + 1)
            shape = (*elem.shape[:axis], or_data(length), *elem.shape[axis:])
            return single(elem.dtype, shape)
        axis = normal_axis(self.axis, len(elem.shape))
        shape = (
            *elem.shape[:axis],
            self._together(elem.shape[axis], length),
            *elem.shape[axis + 1 :],
        )
        return single(elem.dtype, shape)

    def _joined(self, items: Sequence[Type]) -> TensorType | None:
        """Return the result type from the individual elements, None if the rank of one is unknown.

        Raises:
            ShapeError: the elements are incompatible.
        """
        shapes = [t.shape for t in items if isinstance(t, TensorType) and t.shape is not None]
        first = items[0]
        if len(shapes) < len(items) or not isinstance(first, TensorType):
            return None
        rank = len(shapes[0])
        if any(len(s) != rank for s in shapes):
            raise ShapeError(f"elements of ranks {sorted({len(s) for s in shapes})}")
        axis = normal_axis(self.axis, rank + (1 if self.new_axis else 0))
        dims: list[Dim] = []
        for i, extents in enumerate(zip(*shapes, strict=True)):
            if i == axis and not self.new_axis:
                dims.append(dim_sum(extents))
                continue
            extent = extents[0]
            for other in extents[1:]:
                common = agreed(extent, other)
                if common is None:
                    raise ShapeError(f"elements of {extent} and {other} along axis {i}")
                extent = common
            dims.append(extent)
        if self.new_axis:
            dims.insert(axis, len(items))
        return TensorType(first.dtype, tuple(dims))

    def _together(self, extent: Dim, length: Dim | None) -> Dim:
        """Return the extent of ``length`` elements in a row; only bounded if they may differ."""
        # equal extents, or at most one: the product is exact
        if length is not None and (length in (0, 1) or not is_data_dependent(extent)):
            return extent * length
        hi = upper(extent)
        return data_extent(None if hi is None or length is None else hi * length)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        contents, types = contents_of(ins, 0), all_items(sequence(ins))
        if contents is None or types is None or not isinstance(outs[0], TensorType):
            return ()
        parts: list[Value] = []
        for part, type_ in zip(contents, types, strict=True):
            shape = small_shape(type_)
            if shape is None or not isinstance(type_, TensorType):
                return ()
            # stacking is a concatenation of elements with a new axis of extent 1
            if self.new_axis:
                axis = normal_axis(self.axis, len(shape) + 1)
                shape = (*shape[:axis], 1, *shape[axis:])
                part = None if part is None else Known(shape, part.items)
            parts.append(Value("", TensorType(type_.dtype, shape), part))
        return Concat(self.axis).fold(tuple(parts), outs)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        result = stored(outs[0])
        return moved([result], [result])
