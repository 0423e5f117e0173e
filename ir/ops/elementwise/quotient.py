"""Symbolic fractions: float elements between the cast of an extent and rounding back."""

from __future__ import annotations

from math import gcd
from typing import Final

from ... import Dim, Item, Poly, ceil_div, interval
from ...tensors.known import MAX_TERMS, Quotient

MAX_TERM: Final = 64
"""Maximum numerator and denominator of a float factor.

Products with extents up to 2**24 / 64 / 64 are then exact in single precision."""

MAX_DEGREE: Final = 16
"""Maximum factors of a term, which bounds the time of later arithmetic."""


def is_symbolic(item: Item) -> bool:
    """Return True if an element depends on symbols."""
    return isinstance(item, Poly | Quotient)


def fraction(item: Item) -> tuple[Dim, int]:
    """Return numerator and denominator of an element.

    Raises:
        TypeError: it is a float whose products single precision might round.
    """
    match item:
        case Quotient(num, den):
            return num, den
        case int() as whole:  # a boolean becomes 0 or 1
            return int(whole), 1
        case Poly() as extent:
            return extent, 1
        case float() as value if value.is_integer():
            return int(value), 1
        case float() as value:
            numerator, denominator = value.as_integer_ratio()
            if abs(numerator) <= MAX_TERM and denominator <= MAX_TERM:
                return numerator, denominator
    raise TypeError("not a small fraction")


def quotient(num: Dim, den: Dim) -> Item:
    """Return ``num / den`` as an element, an integer if it divides exactly.

    Raises:
        ValueError: the divisor is symbolic and does not divide, or the result is too large.
    """
    if den == 0:
        raise ZeroDivisionError("division by zero")
    whole = num // den
    if whole * den == num:
        return whole
    # only polynomials over integers are tracked
    if isinstance(den, Poly) or not isinstance(num, Poly):
        raise ValueError("does not divide")
    # the first term has the highest degree: its monomial has the most factors
    if len(num.terms) > MAX_TERMS or len(num.terms[0][0]) > MAX_DEGREE:
        raise ValueError("too large to track")
    if den < 0:
        num, den = -num, -den
    assert isinstance(num, Poly)
    # reduced by the common divisor of all coefficients
    shared = gcd(den, *(c for _, c in num.terms))
    reduced = num // shared
    assert isinstance(reduced, Poly)
    return Quotient(reduced, den // shared)


def is_dyadic(den: int) -> bool:
    """Return True if ``den`` is a power of two, so that dividing floats by it is exact."""
    return den & (den - 1) == 0


def rounded_down(item: Quotient) -> Dim:
    """Return a quotient rounded down to an integer or a polynomial."""
    return item.num // item.den


def rounded_up(item: Quotient) -> Dim:
    """Return a quotient rounded up to an integer or a polynomial."""
    return ceil_div(item.num, item.den)


def truncated(item: Quotient) -> Dim | None:
    """Return a quotient rounded toward zero; None if its sign depends on the symbols."""
    lo, hi = interval(item.num)
    if lo is not None and lo >= 0:
        return rounded_down(item)
    return rounded_up(item) if hi is not None and hi <= 0 else None
