"""Compute known elements of small tensors through operators that move data.

Operators of shape arithmetic (``Gather``, ``Concat``, ``Reshape``) call these functions, so that
extents written by a model as tensors become symbolic extents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, inf, prod

from ..graph import Inputs
from ..op import known, tensor
from ..symbolic.dim import Dim, Poly, same
from ..symbolic.fresh import data_extent
from .known import MAX_ELEMENTS, Item, Known, indices, strides_of
from .types import DType, TensorType, Type


def static_shape(type_: Type) -> tuple[int, ...] | None:
    """Return a tensor's shape if every extent is a number, else None."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    extents = tuple(d for d in type_.shape if isinstance(d, int))
    return extents if len(extents) == len(type_.shape) else None


def small_shape(type_: Type) -> tuple[int, ...] | None:
    """Return the static shape of a tensor that is small enough to track, else None."""
    shape = static_shape(type_)
    return shape if shape is not None and prod(shape) <= MAX_ELEMENTS else None


def content(ins: Inputs, index: int) -> Known | None:
    """Return the content of an input; elements of a small static tensor are None where unknown."""
    contents = known(ins, index)
    if contents is not None:
        return contents
    shape = small_shape(tensor(ins, index))
    return None if shape is None else Known(shape, (None,) * prod(shape))


def elements(ins: Inputs, index: int) -> tuple[int | Poly | None, ...] | None:
    """Return the elements of a vector (or scalar) of extents, None for each unknown one.

    None if their number is unknown as well.
    """
    contents = known(ins, index)
    if contents is not None:
        return contents.dims
    type_ = tensor(ins, index)
    if type_.shape is None or len(type_.shape) > 1:
        return None
    length = type_.shape[0] if type_.shape else 1
    return (None,) * length if isinstance(length, int) and length <= MAX_ELEMENTS else None


def arranged(
    source: Known, shape: Sequence[int], where: Callable[[tuple[int, ...]], Sequence[int]]
) -> Known | None:
    """Return a tensor of ``shape`` whose element at ``index`` is ``source`` at ``where(index)``."""
    if prod(shape) > MAX_ELEMENTS:
        return None
    strides = strides_of(source.shape)

    def at(index: tuple[int, ...]) -> Item:
        """Return the element of the result at ``index``."""
        flat = sum(i * s for i, s in zip(where(index), strides, strict=True))
        return source.items[flat]

    return Known.of(shape, [at(index) for index in indices(shape)])


def picked(source: Known, axis: int, positions: Sequence[int]) -> Known | None:
    """Return ``source`` at these positions of one axis."""
    shape = (*source.shape[:axis], len(positions), *source.shape[axis + 1 :])
    return arranged(source, shape, lambda i: (*i[:axis], positions[i[axis]], *i[axis + 1 :]))


def reshaped(source: Known | None, type_: Type) -> Known | None:
    """Return the same elements with another static shape."""
    shape = static_shape(type_)
    if source is None or shape is None or prod(shape) != len(source.items):
        return None
    return Known(shape, source.items)


def agreed(a: Dim, b: Dim) -> Dim | None:
    """Return the extent that satisfies both descriptions, None if they cannot be equal."""
    if same(a, b) is False:
        return None
    return b if isinstance(b, int) else a


def or_data(extent: Dim | None, hi: Dim | None = None, lo: int = 0) -> Dim:
    """Return ``extent``, or a data-dependent extent if it is None."""
    return data_extent(hi, lo) if extent is None else extent


_NARROW = {DType.F32: "f", DType.F16: "e"}
"""Codes of `struct` for types that are narrower than Python's float; it has none for bf16 and 8-bit
floats, whose values are not rounded."""


def rounded(value: float, dtype: DType) -> float:
    """Return ``value`` rounded to the element type."""
    code = _NARROW.get(dtype)
    if code is None:
        return value
    import struct

    try:
        result: float = struct.unpack(code, struct.pack(code, value))[0]
    except (OverflowError, struct.error):
        # `struct` refuses numbers beyond the type, which IEEE 754 rounds to infinity
        return copysign(inf, value)
    return result
