"""Hold contents of small tensors that are known before execution, from which shapes follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from ..record import record
from ..symbolic.dim import Poly


@record
class Quotient:
    """``num / den`` with a symbolic numerator, ``den`` above one and not dividing it.

    It is an element of a float tensor, between the cast of an extent and rounding back;
    the text form writes it as an unknown element.
    """

    num: Poly
    den: int

    def __str__(self) -> str:
        return f"({self.num})/{self.den}"


Item: TypeAlias = "int | float | bool | str | Poly | Quotient | Known | None"
"""One element: None if only this element is unknown, ``Known`` for an element of a sequence."""

MAX_ELEMENTS = 4096
"""Maximum elements of a tracked tensor: no shape depends on a larger one, and time stays
bounded."""

MAX_TERMS = 48
"""Maximum terms of a symbolic element; a larger one counts as unknown. It bounds the time of
products, as do the 16 factors of a term; extents of models have a few of either."""
INT64 = 1 << 63
"""2^63: elements are integers from the least int64, -2^63, to the largest uint64, 2^64 - 1."""


def _bounded(item: Item) -> Item:
    """Return ``item``, or None if it is too large a number or polynomial to track."""
    match item:
        case bool():
            return item
        case int():
            return item if -INT64 <= item < 2 * INT64 else None
        # terms are sorted: the first one has the most factors
        case Poly():
            return item if len(item.terms) <= MAX_TERMS and len(item.terms[0][0]) <= 16 else None
        case _:
            return item


@record
class Known:
    """Elements of a tensor in row-major order, with its (static) shape.

    Integers may be polynomials in the symbols; an unknown element is None. For a sequence
    it holds the contents of the elements, as a vector.
    """

    shape: tuple[int, ...]
    items: tuple[Item, ...]

    @staticmethod
    def of(shape: Sequence[int], items: Sequence[Item]) -> Known | None:
        """Return the tensor, or None if it is too large to track or has no known element."""
        if len(items) > MAX_ELEMENTS:
            return None
        bounded = tuple(_bounded(i) for i in items)
        if bounded and all(i is None for i in bounded):
            return None
        return Known(tuple(shape), bounded)

    @staticmethod
    def scalar(item: Item) -> Known:
        """Return a tensor of rank 0."""
        return Known((), (item,))

    @staticmethod
    def vector(items: Sequence[Item]) -> Known:
        """Return a tensor of rank 1."""
        return Known((len(items),), tuple(items))

    @property
    def is_complete(self) -> bool:
        """Return True if every element is known."""
        return None not in self.items and all(
            item.is_complete for item in self.items if isinstance(item, Known)
        )

    @property
    def dims(self) -> tuple[int | Poly | None, ...]:
        """Return elements as extents; floats and strings count as unknown."""
        return tuple(
            int(i) if isinstance(i, bool) else i if isinstance(i, int | Poly) else None
            for i in self.items
        )

    @property
    def ints(self) -> tuple[int, ...] | None:
        """Return elements as plain integers, None if any is not one."""
        integers = tuple(int(i) for i in self.items if isinstance(i, int))
        return integers if len(integers) == len(self.items) else None

    @property
    def item(self) -> Item:
        """Return the only element of a scalar or one-element tensor, None if there are more."""
        return self.items[0] if len(self.items) == 1 else None

    def __str__(self) -> str:
        def show(axis: int, offset: int) -> str:
            """Return the elements from ``offset`` over ``axis`` and later axes."""
            if axis == len(self.shape):
                return literal(self.items[offset])
            stride = prod(self.shape[axis + 1 :])
            rows = (show(axis + 1, offset + i * stride) for i in range(self.shape[axis]))
            return f"[{', '.join(rows)}]"

        return show(0, 0)


def literal(item: Item) -> str:
    """Return an element in the text form; ``_`` stands for an unknown one."""
    match item:
        case None | Quotient() | Known():
            return "_"
        case bool():
            return "true" if item else "false"
        case str():
            import json

            return json.dumps(item)
        case float():
            return repr(item)
        case _:
            return str(item)


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return row-major strides in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every index of ``shape`` in row-major order."""
    return product(*(range(d) for d in shape))


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the static broadcast shape; None if the shapes cannot be broadcast."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for axis in range(rank):
        extents = {s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            return None
        out.append(extents.pop() if extents else 1)
    return tuple(out)


def broadcast_to(known: Known, shape: tuple[int, ...]) -> tuple[Item, ...]:
    """Return elements of ``known`` broadcast to ``shape``."""
    if known.shape == shape:
        return known.items
    if len(known.items) == 1:
        return known.items * prod(shape)
    lead = len(shape) - len(known.shape)
    strides = strides_of(known.shape)
    # stride 0 repeats the only element of an axis
    steps = [0 if d == 1 else s for d, s in zip(known.shape, strides, strict=True)]
    return tuple(
        known.items[sum(i * s for i, s in zip(index[lead:], steps, strict=True))]
        for index in indices(shape)
    )


def elementwise(function: Callable[..., Item], *operands: Known) -> Known | None:
    """Apply ``function`` to broadcast elements; an unknown or failing element stays unknown."""
    shape = broadcast_shape([k.shape for k in operands])
    if shape is None or prod(shape) > MAX_ELEMENTS:
        return None

    def element(*args: Item) -> Item:
        """Return the result for one element of each operand."""
        if None in args:
            return None
        try:
            return function(*args)
        except (ArithmeticError, TypeError, ValueError):
            # such as a division by 0 or of a symbol: shapes that need it are unknown
            return None

    columns = [broadcast_to(k, shape) for k in operands]
    return Known.of(shape, [element(*row) for row in zip(*columns, strict=True)])
