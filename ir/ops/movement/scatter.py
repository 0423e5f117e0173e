"""Operators that write updates into a copy of a tensor."""

from __future__ import annotations

from collections.abc import Callable

from perfc.errors import ShapeError

from ... import (
    NO_WORK,
    Dim,
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Op,
    Traffic,
    Types,
    Work,
    count,
    frozen,
    has,
    indices,
    known,
    normal_axis,
    single,
    strides_of,
    tensor,
)
from ...tensors.contents import agreed
from ...traffic import moved, stored
from ..elementwise import exact
from .gather import position

# new element from the old one and an update, by the attribute `reduction`
REDUCTIONS: dict[str, Callable[[Item, Item], Item]] = {
    "none": lambda _, new: new,
    "add": exact.add,
    "mul": exact.multiply,
    "max": exact.maximum,
    "min": exact.minimum,
}


def reduced(reduction: str, old: Item, new: Item) -> Item:
    """Return an element after an update; None if the result is unknown."""
    try:
        return REDUCTIONS[reduction](old, new)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


@frozen
class Scattering(Op):
    """Updates written into a copy of ``data`` at indices.

    Shapes:  the result has the type of ``data``.
    Work:    with a reduction one operation per update, else none.
    Traffic: data read and written once (the copy), indices and updates read once. Whether the copy
             can be saved by working in place is for the liveness analysis to say.
    Source:  ONNX.
    """

    operands = "data indices updates"
    kind = Kind.GATHER
    formulas = {"read_bytes": "d + i + u", "write_bytes": "d"}
    reduction: str = "none"

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        if self.reduction == "none":
            return NO_WORK
        updates = tensor(ins, 2)
        e = count(updates)
        # an unknown type counts as real, as most tensors are
        is_real = updates.dtype.is_float or updates.dtype is DType.UNKNOWN
        return Work(alu=e) if is_real else Work(integer=e)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return moved([stored(tensor(ins, i)) for i in range(3)], [stored(outs[0])])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        d, i, u = (stored(tensor(ins, k)) or 0 for k in range(3))
        return {"d": d, "i": i, "u": u}


@frozen
class ScatterElements(Scattering):
    """One update for each index along an axis. Source: ONNX ScatterElements-18, Scatter-9."""

    mnemonic = "scatter_elements"
    onnx = "ScatterElements Scatter"
    axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        data, index = tensor(ins, 0), tensor(ins, 1)
        if data.shape is not None:
            normal_axis(self.axis, len(data.shape))
            if index.shape is not None and len(index.shape) != len(data.shape):
                raise ShapeError(f"ranks {len(data.shape)} and {len(index.shape)} differ")
        return (data,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, index, updates = known(ins, 0), known(ins, 1), known(ins, 2)
        if data is None or index is None or updates is None or index.shape != updates.shape:
            return ()
        axis = normal_axis(self.axis, len(data.shape))
        strides = strides_of(data.shape)
        items = list(data.items)
        for i, k, new in zip(indices(index.shape), index.items, updates.items, strict=True):
            from_front = position(k, data.shape[axis])
            where = (*i[:axis], from_front or 0, *i[axis + 1 :])
            # an unknown index may change any element
            if from_front is None or any(p >= d for p, d in zip(where, data.shape, strict=True)):
                return ()
            flat = sum(p * s for p, s in zip(where, strides, strict=True))
            items[flat] = reduced(self.reduction, items[flat], new)
        return (Known.of(data.shape, items),)


@frozen
class ScatterND(Scattering):
    """Slices updated at index vectors. Source: ONNX ScatterND-18."""

    mnemonic = "scatter_nd"
    onnx = "ScatterND"

    def infer(self, ins: Inputs) -> Types:
        data, index = tensor(ins, 0), tensor(ins, 1)
        if data.shape is not None and index.shape:
            k = index.shape[-1]
            if isinstance(k, int) and k > len(data.shape):
                raise ShapeError(f"index vectors of {k} for rank {len(data.shape)}")
        return (data,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, index, updates = known(ins, 0), known(ins, 1), known(ins, 2)
        if data is None or index is None or updates is None or not index.shape:
            return ()
        k = index.shape[-1]
        strides = strides_of(data.shape)
        # elements of the slice that an index vector addresses
        width = strides[k - 1] if k else len(data.items)
        rows = len(index.items) // k if k else 1
        # a slice per index vector
        if not data.items or len(updates.items) != rows * width:
            return ()
        items = list(data.items)
        for row in range(rows):
            flat = 0
            for j in range(k):
                entry = position(index.items[row * k + j], data.shape[j])
                if entry is None:
                    return ()
                flat += entry * strides[j]
            for offset in range(width):
                new = updates.items[row * width + offset]
                items[flat + offset] = reduced(self.reduction, items[flat + offset], new)
        return (Known.of(data.shape, items),)


@frozen
class TensorScatter(Op):
    """New entries written into a cache in place, as keys and values are.

    Shapes:  past_cache[b, ..., s, ...], update[b, ..., n, ...] -> present_cache like past_cache.
    Work:    none.
    Traffic: the update is read and written; the rest of the cache is not touched. A runtime that
             cannot give the result the operand's buffer copies the cache besides.
    Source:  ONNX TensorScatter-24.
    """

    mnemonic = "tensor_scatter"
    onnx = "TensorScatter"
    operands = "past_cache update write_indices?"
    kind = Kind.GATHER
    formulas = {"read_bytes": "u + i", "write_bytes": "u"}
    axis: int = -2
    mode: str = "linear"

    def infer(self, ins: Inputs) -> Types:
        cache, update = tensor(ins, 0), tensor(ins, 1)
        if cache.shape is None or update.shape is None:
            return (cache,)
        if len(cache.shape) != len(update.shape):
            raise ShapeError(f"ranks {len(cache.shape)} and {len(update.shape)} differ")
        axis = normal_axis(self.axis, len(cache.shape))
        dims: list[Dim] = []
        for i, (mine, theirs) in enumerate(zip(cache.shape, update.shape, strict=True)):
            # the cache and the update have equal extents, except along the axis
            common = mine if i == axis else agreed(mine, theirs)
            if common is None:
                raise ShapeError(f"extents {mine} and {theirs} of axis {i} differ")
            dims.append(common)
        return single(cache.dtype, tuple(dims))

    def _bytes(self, ins: Inputs) -> tuple[Dim | None, Dim | None]:
        """Return bytes of the update and of the indices; None if unknown."""
        return stored(tensor(ins, 1)), stored(tensor(ins, 2)) if has(ins, 2) else 0

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        update, index_bytes = self._bytes(ins)
        return moved([update, index_bytes], [update])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        update, index_bytes = self._bytes(ins)
        return {"u": update or 0, "i": index_bytes or 0}
