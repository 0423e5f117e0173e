"""Exact arithmetic on known elements: wrapping integers, rounded floats, symbolic extents.

Functions raise ArithmeticError, TypeError or ValueError if the result is undetermined;
``known.elementwise`` turns that into an unknown element.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from perfc.errors import ShapeError

from ... import Dim, DType, Item, Known, Poly, at_most, dim_max, dim_min, interval, same
from ...tensors.known import Quotient
from .quotient import (
    fraction,
    is_dyadic,
    is_symbolic,
    quotient,
    rounded_down,
    rounded_up,
    truncated,
)

MAX_POWER: Final = 64
"""Largest exponent of a computed integer power: 2 to a larger exponent exceeds 64 bits."""
EXACT_FLOAT_INTEGERS: Final = {DType.F16: 1 << 11, DType.BF16: 1 << 8, DType.F32: 1 << 24}
"""Integers up to here are representable (IEEE 754: significand bits + 1)."""


def checked(extent: Dim, what: str) -> Dim:
    """Return ``extent`` if it is a valid extent.

    Raises:
        ShapeError: it is negative.
    """
    hi = interval(extent)[1]
    if hi is not None and hi < 0:
        raise ShapeError(f"{what} is {extent}")
    return extent


def wrap(value: int, dtype: DType) -> int:
    """Return ``value`` wrapped to the range of ``dtype``."""
    span = 1 << dtype.bits
    value %= span
    return value - span if dtype.is_signed and value >= span >> 1 else value


def round_to(value: float, dtype: DType) -> float | None:
    """Return the nearest number of ``dtype``, ties to even; None for formats below 16 bits."""
    match dtype:
        case DType.F64:
            return value
        case DType.F32 | DType.F16:
            code = "<f" if dtype is DType.F32 else "<e"
            try:
                return float(struct.unpack(code, struct.pack(code, value))[0])
            except OverflowError:
                return math.copysign(math.inf, value)
        case DType.BF16:
            single = round_to(value, DType.F32)
            if single is None or not math.isfinite(single):
                return single
            bits = struct.unpack("<I", struct.pack("<f", single))[0]
            # The upper half of an f32. Adding half of its last unit less one bit rounds up what is
            # above the half; the bit added to odd numbers rounds ties to even.
            bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
            return float(struct.unpack("<f", struct.pack("<I", bits))[0])
        case _:
            return None


def _fit_extent(value: Poly, dtype: DType) -> Item:
    """Return an extent as ``dtype`` if all its values are representable, None if not."""
    lo, hi = interval(value)
    if dtype.is_float:
        limit = EXACT_FLOAT_INTEGERS.get(dtype)
        if limit is None:
            return value if dtype is DType.F64 else None
        if dtype is DType.F32:
            # a model that computes an extent in f32 assumes that it is below 2**24: so an unbounded
            # extent counts as representable
            lo, hi = lo or 0, hi or 0
        # all values are representable without rounding
        safe = hi is not None and hi <= limit and lo is not None and lo >= -limit
        return value if safe else None
    if not dtype.is_integer or (not dtype.is_signed and (lo is None or lo < 0)):
        return None
    # models compute extents in 32 or 64 bits, which are taken to suffice
    if dtype.bits >= 32:
        return value
    # one more than the largest value
    top = 1 << (dtype.bits - dtype.is_signed)
    inside = hi is not None and hi < top and lo is not None and lo >= -top
    return value if inside else None


def fit(item: Item, dtype: DType) -> Item:
    """Return ``item`` as ``dtype``: integers wrap, floats round; None if undetermined."""
    match item:
        case None | str():
            return item
        case Known():  # an element of a sequence is no number
            return None
        case Poly():
            return _fit_extent(item, dtype)
    if isinstance(item, Quotient):
        # exact in single precision; narrower floats would round it
        return item if dtype in (DType.F32, DType.F64) else None
    if dtype is DType.BOOL:
        return bool(item)
    if dtype.is_integer:
        # a float reaches an integer type only through `convert`
        return None if isinstance(item, float) else wrap(int(item), dtype)
    return round_to(float(item), dtype) if dtype.is_float else None


def convert(item: Item, source: DType, target: DType) -> Item:
    """Return ``item`` cast as by ONNX Cast; None if the standard does not define the result."""
    match item:
        case None:
            return None
        case str():
            return _parse(item, target)
        case Poly() if target is DType.BOOL:
            lo, hi = interval(item)
            nonzero = (lo is not None and lo > 0) or (hi is not None and hi < 0)
            return True if nonzero else None
        case float() if target.is_integer:
            if not math.isfinite(item):
                return None
            whole = math.trunc(item)
            # out of range is undefined in ONNX Cast
            return whole if wrap(whole, target) == whole else None
    if isinstance(item, Quotient) and target.is_integer:
        return truncated(item)
    if target is DType.STR:
        return str(item) if isinstance(item, int) and source.is_integer else None
    return fit(item, target)


def _parse(text: str, target: DType) -> Item:
    """Return a string as a number of ``target``; a text that is none raises ValueError."""
    if target is DType.STR:
        return text
    if target.is_integer:
        return fit(int(text), target)
    return fit(float(text), target) if target.is_float else None


def _pair(a: Item, b: Item) -> tuple[Dim, Dim, int] | None:
    """Return numerators over a common denominator if either is symbolic, None if both are numbers.

    Raises:
        TypeError: a denominator is not a power of two, so that the result would be rounded twice.
    """
    if not (is_symbolic(a) or is_symbolic(b)):
        return None
    (x, dx), (y, dy) = fraction(a), fraction(b)
    if dx == dy == 1:
        return x, y, 1
    if not (is_dyadic(dx) and is_dyadic(dy)):
        raise TypeError("rounded twice")
    # of two powers of two the larger is a multiple of the smaller
    den = max(dx, dy)
    return x * (den // dx), y * (den // dy), den


def _whole(item: Item) -> Dim:
    """Return ``item`` as an integer or polynomial.

    Raises:
        TypeError: it is not an integer.
    """
    num, den = fraction(item)
    if den != 1:
        raise TypeError("not a whole number")
    return num


def plain(item: Item) -> float:
    """Return ``item`` as a Python number, an integer if it is one."""
    if isinstance(item, int | float):
        return item
    raise TypeError("not a number")


def add(a: Item, b: Item) -> Item:
    """Return the sum."""
    pair = _pair(a, b)
    return quotient(pair[0] + pair[1], pair[2]) if pair else plain(a) + plain(b)


def subtract(a: Item, b: Item) -> Item:
    """Return the difference."""
    pair = _pair(a, b)
    return quotient(pair[0] - pair[1], pair[2]) if pair else plain(a) - plain(b)


def multiply(a: Item, b: Item) -> Item:
    """Return the product."""
    pair = _pair(a, b)
    return quotient(pair[0] * pair[1], pair[2] * pair[2]) if pair else plain(a) * plain(b)


def divide(a: Item, b: Item) -> Item:
    """Return the quotient of floats."""
    pair = _pair(a, b)
    # the common denominator cancels
    return quotient(pair[0], pair[1]) if pair else plain(a) / plain(b)


def divide_truncated(a: Item, b: Item) -> Item:
    """Return the quotient of integers, rounded toward zero."""
    pair = _pair(a, b)
    if pair is None:
        x, y = plain(a), plain(b)
        size = abs(x) // abs(y)
        return size if (x < 0) == (y < 0) else -size
    num, den = pair[0], pair[1]
    (num_lo, num_hi), (den_lo, den_hi) = interval(num), interval(den)
    # a positive divisor from here on
    if den_hi is not None and den_hi < 0:
        return divide_truncated(-num, -den)
    if den_lo is not None and den_lo >= 0:
        if num_lo is not None and num_lo >= 0:
            return num // den
        if num_hi is not None and num_hi <= 0:
            return -((-num) // den)
    # signs are unknown: only a quotient without a remainder is the same in both roundings
    exact = num // den
    if exact * den != num:
        raise ValueError("sign depends on the symbols")
    return exact


def modulo(a: Item, b: Item) -> Item:
    """Return the remainder with the sign of the divisor."""
    if is_symbolic(a) or is_symbolic(b):
        return _whole(a) % _whole(b)
    return plain(a) % plain(b)


def modulo_truncated(a: Item, b: Item) -> Item:
    """Return the remainder with the sign of the dividend, as C's ``fmod``."""
    if isinstance(a, float) and isinstance(b, float):
        return math.fmod(a, b)
    return subtract(a, multiply(divide_truncated(a, b), b))


def power(a: Item, b: Item) -> Item:
    """Return ``a ** b`` for exponents small enough to finish."""
    if is_symbolic(a) or is_symbolic(b):
        exponent = _whole(b)
        # each factor multiplies the terms of a polynomial: only small powers are tracked
        if not isinstance(exponent, int) or not 0 <= exponent <= 4:
            raise ValueError("symbolic power")
        result: Dim = 1
        for _ in range(exponent):
            result = result * _whole(a)
        return result
    # negative powers of integers are no integers; large ones take long
    if isinstance(a, int) and isinstance(b, int) and (b < 0 or (b > MAX_POWER and abs(a) > 1)):
        raise ValueError("integer power out of range")
    numeric: Item | complex = plain(a) ** plain(b)
    if isinstance(numeric, complex):
        raise ValueError("root of a negative number")
    return numeric


def _nan(a: Item, b: Item) -> bool:
    return any(isinstance(x, float) and math.isnan(x) for x in (a, b))


def minimum(a: Item, b: Item) -> Item:
    """Return the smaller element; NaN if either is NaN."""
    return _chosen(a, b, dim_min, min)


def maximum(a: Item, b: Item) -> Item:
    """Return the larger element; NaN if either is NaN."""
    return _chosen(a, b, dim_max, max)


def _chosen(
    a: Item,
    b: Item,
    of_extents: Callable[[Dim, Dim], Dim],
    of_numbers: Callable[[float, float], float],
) -> Item:
    """Return one of two elements, by ``of_extents`` if either depends on symbols."""
    pair = _pair(a, b)
    if pair:
        return quotient(of_extents(*pair[:2]), pair[2])
    return math.nan if _nan(a, b) else of_numbers(plain(a), plain(b))


def less_or_equal(a: Item, b: Item) -> Item:
    """Return ``a <= b``, None if it depends on the symbols."""
    if is_symbolic(a) and isinstance(b, float):
        return b > 0 if math.isinf(b) else _at_most(a, b, math.floor(b))
    if isinstance(a, float) and is_symbolic(b):
        return a < 0 if math.isinf(a) else _at_most(a, b, math.ceil(a))
    pair = _pair(a, b)
    return at_most(*pair[:2]) if pair else plain(a) <= plain(b)


def _at_most(a: Item, b: Item, limit: int) -> Item:
    """Return ``a <= b`` for a float and a symbolic element.

    ``limit`` is the float rounded to an integer: a whole extent compares with it in the same way.
    """
    if isinstance(a, Poly):
        return at_most(a, limit)
    if isinstance(b, Poly):
        return at_most(limit, b)
    pair = _pair(a, b)
    return None if pair is None else at_most(*pair[:2])


def less(a: Item, b: Item) -> Item:
    """Return ``a < b``, None if it depends on the symbols."""
    if _nan(a, b):
        return False
    # without NaN, a < b is the contrary of b <= a
    reverse = less_or_equal(b, a)
    return None if reverse is None else not reverse


def greater(a: Item, b: Item) -> Item:
    """Return ``a > b``, None if it depends on the symbols."""
    return less(b, a)


def greater_or_equal(a: Item, b: Item) -> Item:
    """Return ``a >= b``, None if it depends on the symbols."""
    return less_or_equal(b, a)


def equal(a: Item, b: Item) -> Item:
    """Return ``a == b``, None if it depends on the symbols."""
    fractional = any(isinstance(x, float) and not x.is_integer() for x in (a, b))
    if fractional and (isinstance(a, Poly) or isinstance(b, Poly)):
        return False
    pair = _pair(a, b)
    return same(*pair[:2]) if pair else a == b


def negate(a: Item) -> Item:
    """Return the negative."""
    return subtract(0, a) if is_symbolic(a) else -plain(a)


def absolute(a: Item) -> Item:
    """Return the absolute value."""
    return maximum(a, negate(a)) if is_symbolic(a) else abs(plain(a))


def sign(a: Item) -> Item:
    """Return the sign of an element: -1, 0 or 1.

    Raises:
        ValueError: the sign depends on the symbols.
    """
    if isinstance(a, Poly):
        lo, hi = interval(a)
        if lo is not None and lo > 0:
            return 1
        if hi is not None and hi < 0:
            return -1
        raise ValueError("sign depends on the symbols")
    result = (plain(a) > 0) - (plain(a) < 0)
    return float(result) if isinstance(a, float) else result


def floor(a: Item) -> Item:
    """Return the element rounded down to an integer; symbolic if the element is."""
    if isinstance(a, Quotient):
        return rounded_down(a)
    return a if isinstance(a, Poly) else float(math.floor(plain(a)))


def ceil(a: Item) -> Item:
    """Return the element rounded up to an integer; symbolic if the element is."""
    if isinstance(a, Quotient):
        return rounded_up(a)
    return a if isinstance(a, Poly) else float(math.ceil(plain(a)))


def round_half_even(a: Item) -> Item:
    """Return the element rounded to the nearest integer, ties to even."""
    return a if isinstance(a, Poly) else float(round(plain(a)))
