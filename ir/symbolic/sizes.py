"""Check extents that users give, and replace symbols of types and contents by numbers."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from perfc.errors import ParseError

from ..syntax.names import symbol_key
from ..tensors.known import Item, Known, Quotient
from ..tensors.types import TensorType, Type, with_tensors
from .dim import Poly, substitute

MAX_EXTENT = (1 << 63) - 1
"""Maximum extent and maximum elements of a tensor: ONNX and every runtime count in 64 bits."""


def sizes_of(dims: Mapping[str, object], where: str = "--dim") -> dict[str, int]:
    """Return values that a caller gives to symbols, by the symbols' keys.

    Args:
        dims: values by name of a symbol.
        where: source of the values, for messages.

    Raises:
        ParseError: a value is not an integer, is negative, or exceeds ``MAX_EXTENT``.

    >>> sizes_of({"batch": 8, "past seq": 0})
    {'batch': 8, '`past seq`': 0}
    """
    values: dict[str, int] = {}
    for name, value in dims.items():
        try:
            # -1 for anything but an integer, so that the check below reports all of them
            number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = -1
        if not 0 <= number <= MAX_EXTENT:
            is_long = isinstance(value, int) and value.bit_length() > 64
            # a huge number is not printed in full
            shown = f"2^{value.bit_length() - 1}" if is_long else repr(value)[:24]  # type: ignore[attr-defined]
            hint = "a whole number from 0 to 2^63 - 1"
            raise ParseError(f"{name} = {shown} is no extent", where=where, hint=hint)
        values[symbol_key(name)] = number
    return values


def bound_type(type_: Type, env: Mapping[str, int]) -> Type:
    """Return ``type_`` with symbols replaced by numbers."""

    def bound(t: TensorType) -> TensorType:
        if t.shape is None or not any(isinstance(d, Poly) for d in t.shape):
            return t
        return TensorType(t.dtype, tuple([substitute(d, env) for d in t.shape]))

    return with_tensors(type_, bound, lambda n: substitute(n, env) if isinstance(n, Poly) else n)


def bound_known(known: Known | None, env: Mapping[str, int]) -> Known | None:
    """Return a content with symbols replaced by numbers."""
    if known is None or not is_symbolic(known):
        return known
    return Known(known.shape, tuple([bound_item(item, env) for item in known.items]))


def bound_item(item: Item, env: Mapping[str, int]) -> Item:
    """Return an element of a content with symbols replaced by numbers."""
    match item:
        case Poly():
            return substitute(item, env)
        case Quotient(num, den):
            number = substitute(num, env)
            return Quotient(number, den) if isinstance(number, Poly) else number / den
        case _:
            return item


def is_symbolic(known: Known | None) -> bool:
    """Return True if a content contains symbols."""
    return known is not None and any(isinstance(i, Poly | Quotient) for i in known.items)


def misfit(type_: Type) -> int | None:
    """Return an extent or a number of elements of a type that is impossible; None if all are valid.

    >>> from perfc.ir.tensors.types import DType
    >>> misfit(TensorType(DType.F32, (2, -1))), misfit(TensorType(DType.F32, (2, 0)))
    (-1, None)
    """
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    count = 1
    for d in type_.shape:
        if not isinstance(d, Poly):
            if d < 0 or d > MAX_EXTENT:
                return d
            count *= d
    return count if count > MAX_EXTENT else None
