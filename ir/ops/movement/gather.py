"""Operators that read selected elements: only these are moved, not whole tables."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Natural,
    Op,
    Poly,
    TensorType,
    Traffic,
    Types,
    frozen,
    indices,
    known,
    normal_axis,
    single,
    strides_of,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import agreed, arranged, or_data
from ...traffic import first_once, moved, stored, taken


def position(index: Item, extent: int) -> int | None:
    """Return ``index`` counted from the front, None if it is unknown or out of range."""
    if not isinstance(index, int) or not -extent <= index < extent:
        return None
    return index + extent if index < 0 else index


class Taking(Op):
    """Base of operators that select elements of a table by indices.

    Shapes:  as in each operator.
    Work:    none; index arithmetic is not counted.
    Traffic: the selected elements are read, at most the whole table once; the
             indices are read, the result is written.
    Source:  ONNX.
    """

    kind = Kind.GATHER
    formulas = {"read_bytes": "r + i", "write_bytes": "w"}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        indices_bytes = stored(tensor(ins, 1))
        return moved([taken(tensor(ins, 0), outs[0]), indices_bytes], [stored(outs[0])])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {
            "r": taken(tensor(ins, 0), outs[0]) or 0,
            "i": stored(tensor(ins, 1)) or 0,
            "w": stored(outs[0]) or 0,
        }


@frozen
class Gather(Taking):
    """Slices of the operand along one axis, as in an embedding.

    Shapes:  data[a..., d, b...], indices[q...] -> output[a..., q..., b...].
    Source:  ONNX Gather-13.
    """

    mnemonic = "gather"
    onnx = "Gather"
    operands = "data indices"
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        data, index = tensor(ins, 0), tensor(ins, 1)
        if data.shape is None or index.shape is None:
            return single(data.dtype, None)
        axis = normal_axis(self.axis, len(data.shape))
        shape = (*data.shape[:axis], *index.shape, *data.shape[axis + 1 :])
        return single(data.dtype, shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, index = known(ins, 0), known(ins, 1)
        if data is None or index is None:
            return ()
        axis = normal_axis(self.axis, len(data.shape))
        # positions from the front; None for unknown indices
        positions = [position(i, data.shape[axis]) for i in index.items]
        # an empty axis has no element to read
        if not data.shape[axis]:
            return ()
        width = len(index.shape)
        strides = strides_of(index.shape)
        shape = (*data.shape[:axis], *index.shape, *data.shape[axis + 1 :])

        def flat(i: tuple[int, ...]) -> int:
            # the flat position of the index that selects element ``i`` of the result
            return sum(p * s for p, s in zip(i[axis : axis + width], strides, strict=True))

        # unknown indices read position 0 first; their elements become unknown below
        gathered = arranged(
            data, shape, lambda i: (*i[:axis], positions[flat(i)] or 0, *i[axis + width :])
        )
        if gathered is None or None not in positions:
            return (gathered,)
        missing = [positions[flat(i)] is None for i in indices(shape)]
        items = [
            None if is_unknown else x for x, is_unknown in zip(gathered.items, missing, strict=True)
        ]
        return (Known.of(shape, items),)


@frozen
class GatherElements(Taking):
    """One element of the operand for each index along an axis.

    Shapes:  data, indices of equal rank -> output with the shape of the indices.
    Source:  ONNX GatherElements-13.
    """

    mnemonic = "gather_elements"
    onnx = "GatherElements"
    operands = "data indices"
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        data, index = tensor(ins, 0), tensor(ins, 1)
        if data.shape is not None and index.shape is not None:
            if len(data.shape) != len(index.shape):
                raise ShapeError(f"ranks {len(data.shape)} and {len(index.shape)} differ")
            normal_axis(self.axis, len(data.shape))
        elif index.shape is None and data.shape is not None:
            return single(data.dtype, tuple(data_extent() for _ in data.shape))
        return single(data.dtype, index.shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, index = known(ins, 0), known(ins, 1)
        if data is None or index is None or not data.items:
            return ()
        axis = normal_axis(self.axis, len(data.shape))
        strides = strides_of(data.shape)
        items: list[Item] = []
        for i, k in zip(indices(index.shape), index.items, strict=True):
            from_front = position(k, data.shape[axis])
            where = (*i[:axis], from_front or 0, *i[axis + 1 :])
            # the indices exceed another axis of the data: the model is ill-formed
            if any(p >= d for p, d in zip(where, data.shape, strict=True)):
                return ()
            flat = sum(p * s for p, s in zip(where, strides, strict=True))
            items.append(None if from_front is None else data.items[flat])
        return (Known.of(index.shape, items),)


@frozen
class GatherND(Taking):
    """Slices of the operand addressed by index vectors.

    Shapes:  with b batch axes and index vectors of k: data[d...], indices[q..., k] ->
             output[q..., d[b + k:]...].
    Source:  ONNX GatherND-13.
    """

    mnemonic = "gather_nd"
    onnx = "GatherND com.microsoft::GatherND"
    operands = "data indices"
    batch_dims: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        data, index = tensor(ins, 0), tensor(ins, 1)
        if data.shape is None or not index.shape:
            return single(data.dtype, None)
        k, b = index.shape[-1], self.batch_dims
        if not isinstance(k, int):
            return single(data.dtype, None)
        if b + k > len(data.shape) or b >= len(index.shape):
            raise ShapeError(f"index vectors of {k} after {b} batch axes, rank {len(data.shape)}")
        batch: list[Dim] = []
        for mine, theirs in zip(index.shape[:b], data.shape[:b], strict=True):
            common = agreed(mine, theirs)
            if common is None:
                raise ShapeError(f"batch extents {mine} and {theirs} differ")
            batch.append(common)
        shape = (*batch, *index.shape[b:-1], *data.shape[b + k :])
        return single(data.dtype, shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, index = known(ins, 0), known(ins, 1)
        if data is None or index is None or not index.shape or not data.items:
            return ()
        k, b = index.shape[-1], self.batch_dims
        strides = strides_of(data.shape)
        # elements of the slice that an index vector addresses
        width = strides[b + k - 1] if b + k else len(data.items)
        items: list[Item] = []
        for row, lead in enumerate(indices(index.shape[:-1])):
            # the batch axes, then the index vector, address a slice in row-major order
            flat: int | None = sum(p * s for p, s in zip(lead[:b], strides, strict=False))
            for j in range(k):
                entry = position(index.items[row * k + j], data.shape[b + j])
                flat = None if entry is None or flat is None else flat + entry * strides[b + j]
            items += (None,) * width if flat is None else data.items[flat : flat + width]
        return (Known.of((*index.shape[:-1], *data.shape[b + k :]), items),)


@frozen
class OneHot(Op):
    """A new axis that is ``values[1]`` at the index and ``values[0]`` elsewhere.

    Shapes:  indices[q...] -> output with an axis of extent ``depth`` inserted at ``axis``.
    Work:    none.
    Traffic: indices read once, the result written once.
    Source:  ONNX OneHot-28.
    """

    mnemonic = "one_hot"
    onnx = "OneHot"
    operands = "indices depth values"
    kind = Kind.GATHER
    axis: int = -1

    def infer(self, ins: Inputs) -> Types:
        index, values = tensor(ins, 0), tensor(ins, 2)
        if index.shape is None:
            return single(values.dtype, None)
        depth_known = known(ins, 1)
        depth = None if depth_known is None else depth_known.item
        # ONNX allows a float as depth
        extent = int(depth) if isinstance(depth, float) else depth
        new = extent if isinstance(extent, int | Poly) else None
        axis = normal_axis(self.axis, len(index.shape) + 1)
        shape = (*index.shape[:axis], or_data(new), *index.shape[axis:])
        return single(values.dtype, shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        index, values = known(ins, 0), known(ins, 2)
        out = outs[0]
        if index is None or values is None or not isinstance(out, TensorType) or not out.shape:
            return ()
        axis = normal_axis(self.axis, len(out.shape))
        depth = out.shape[axis]
        # contents of more elements than `tensors.known.MAX_ELEMENTS`, 4096, are not tracked
        if not isinstance(depth, int) or depth * len(index.items) > 4096:
            return ()
        shape = (*index.shape[:axis], depth, *index.shape[axis:])
        strides = strides_of(index.shape)
        items: list[Item] = []
        for i in indices(shape):
            where = (*i[:axis], *i[axis + 1 :])
            label = index.items[sum(p * s for p, s in zip(where, strides, strict=True))]
            if not isinstance(label, int | float):
                items.append(None)
                continue
            # negative indices count from the end
            hit = label == i[axis] or label + depth == i[axis]
            items.append(values.items[1 if hit else 0])
        return (Known.of(shape, items),)

    traffic = first_once
