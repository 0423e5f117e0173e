"""Join types: the narrowest one that covers branches of If, elements of sequences, loop rounds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfc.errors import ShapeError

from ..symbolic.dim import Dim, Poly, dim_max, interval, symbols
from ..symbolic.fresh import data_extent
from .types import (
    MAX_ITEMS,
    UNKNOWN,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
)

UNSETTLED = re.compile(r"\bu\d+\b|_d\d+$")
"""Names of fresh symbols, also inside the names of broadcasts, and ``x_d0``, which stands for an
axis that the model does not name."""


def is_data_dependent(d: Dim) -> bool:
    """Return True if ``d`` may depend on data, as ``u12``, or if the model did not name it."""
    return any(UNSETTLED.search(s.key) for s in symbols(d))


def upper(d: Dim) -> Dim | None:
    """Return an upper limit of ``d`` for every run: user symbols stay, others are replaced."""
    if not is_data_dependent(d):
        return d
    # a single data-dependent symbol: the limit of its own range, which may be symbolic
    if isinstance(d, Poly) and len(d.terms) == 1 and d.terms[0][1] == 1:
        monomial = d.terms[0][0]
        if len(monomial) == 1 and monomial[0].hi is not None:
            return upper(monomial[0].hi)
    return interval(d)[1]


def join_extent(a: Dim, b: Dim) -> Dim:
    """Return the common extent, or a data-dependent one bounded by the larger of the two."""
    if a == b:
        return a
    hi_a, hi_b = upper(a), upper(b)
    lows = [max(x or 0, 0) for x in (interval(a)[0], interval(b)[0])]
    hi = None if hi_a is None or hi_b is None else dim_max(hi_a, hi_b)
    return data_extent(hi, min(lows))


def join(a: Type, b: Type) -> Type:
    """Return a type that covers both; unknown if there is no useful one.

    Equal extents stay, others become data-dependent; for different ranks only the element type
    stays; an unknown element type becomes that of the other, since ONNX requires equal ones.
    """
    if a == b:
        return a
    match a, b:
        case TensorType(), TensorType():
            return _join_tensors(a, b)
        case SequenceType(elem, n), SequenceType(other, m):
            # elements of an empty sequence do not constrain those of the other
            joined = other if n == 0 else elem if m == 0 else join(elem, other)
            length = None if n is None or m is None else join_extent(n, m)
            shared: list[Type] = []
            for x, y in zip(first_items(a), first_items(b), strict=False):
                if x != y:
                    break
                shared.append(x)
            return sequence_type(joined, length, shared)
        case OptionalType(elem), OptionalType(other):
            return OptionalType(join(elem, other))
        case MapType(key, value), MapType(other_key, other) if key is other_key:
            return MapType(key, join(value, other))
        case _:
            return UNKNOWN


def sequence_type(elem: Type, length: Dim | None, items: Sequence[Type] = ()) -> SequenceType:
    """Return a sequence type; ``items`` are dropped if they say no more than ``elem``."""
    first = tuple(items[:MAX_ITEMS])
    if not varies(elem) and all(t == elem for t in first):
        return SequenceType(elem, length)
    return SequenceType(elem, length, first or None)


def element_type(type_: Type) -> Type:
    """Return ``type_`` if a value of it may be an element of a sequence.

    Raises:
        ShapeError: it is a container; nested containers could double with every node.
    """
    if isinstance(type_, TensorType | UnknownType):
        return type_
    raise ShapeError("an element of a sequence is a tensor, not another container")


def sequence_of(types: Sequence[Type]) -> SequenceType:
    """Return the type of a sequence of values of these types.

    Raises:
        ShapeError: one of them is itself a container.
    """
    elem: Type = element_type(types[0]) if types else UNKNOWN
    for other in types[1:]:
        elem = join(elem, element_type(other))
    return sequence_type(elem, len(types), types)


def first_items(sequence: SequenceType) -> tuple[Type, ...]:
    """Return the types of the first elements, as many as are known individually.

    Elements of a type that varies may differ, so they are known only if they are listed.
    """
    if sequence.items is not None:
        return sequence.items
    if not isinstance(sequence.length, int) or varies(sequence.elem):
        return ()
    return (sequence.elem,) * min(sequence.length, MAX_ITEMS)


def all_items(sequence: SequenceType) -> tuple[Type, ...] | None:
    """Return the types of all elements, None if some are not known individually."""
    items = first_items(sequence)
    return items if sequence.length == len(items) else None


def varies(elem: Type) -> bool:
    """Return True if two values of a type may differ in its data-dependent parts."""
    match elem:
        case TensorType(shape=shape):
            return any(is_data_dependent(d) for d in shape or ())
        case _:
            return not isinstance(elem, UnknownType)


def _join_tensors(a: TensorType, b: TensorType) -> Type:
    """Return a tensor type that covers both; unknown if their element types differ."""
    if a.dtype is not b.dtype and DType.UNKNOWN not in (a.dtype, b.dtype):
        return UNKNOWN
    dtype = b.dtype if a.dtype is DType.UNKNOWN else a.dtype
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(dtype, None)
    return TensorType(
        dtype, tuple(join_extent(x, y) for x, y in zip(a.shape, b.shape, strict=True))
    )
