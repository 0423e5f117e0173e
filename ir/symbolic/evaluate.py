"""Evaluate symbolic extents at values of their symbols, which are numbers or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from .dim import Atom, AtomKind, Dim, Poly

Env: TypeAlias = "Mapping[str, int]"
"""Values of symbols by their keys."""


def solved(d: Dim, key: str, value: int) -> int | None:
    """Return the value of the one symbol of an extent at which the extent has a given value.

    None if there is no such value: an extent of ``8*s`` is never 63.

    >>> from perfc.ir.symbolic.dim import symbol
    >>> solved(symbol("s") * 8, "s", 64), solved(symbol("s") * 8, "s", 63)
    (8, None)
    """
    # extents are nearly always linear: two values give the line, and the solution is verified
    at_zero, at_one = evaluate(d, {key: 0}), evaluate(d, {key: 1})
    # a slope below 1 has no solution that passes the check below, but must not divide by 0
    size, rest = divmod(value - at_zero, max(at_one - at_zero, 1))
    is_solution = not rest and size >= 0 and evaluate(d, {key: size}) == value
    return size if is_solution else None


def evaluate(d: Dim, env: Mapping[str, Any], *, upper: bool = False) -> Any:
    """Return the value of ``d``; ``env`` maps symbols to numbers or to NumPy arrays.

    A symbol that is not in ``env`` is data dependent: it has its lower limit, or with ``upper`` its
    upper limit, so that a bound stays a bound.
    """
    if not isinstance(d, Poly):
        return d
    total: Any = 0
    for monomial, c in d.terms:
        product: Any = c
        for atom in monomial:
            product = product * _atom(atom, env, upper)
        total = total + product
    return total


def _atom(atom: Atom, env: Mapping[str, Any], upper: bool) -> Any:
    """Return the value of a symbol, a floor quotient, a minimum or a maximum."""
    match atom.kind:
        case AtomKind.SYMBOL:
            if atom.key in env:
                return env[atom.key]
            if upper and atom.hi is not None:
                return evaluate(atom.hi, env, upper=True)
            return atom.lo
        case AtomKind.FLOOR:
            den = evaluate(atom.args[1], env, upper=upper)
            num = evaluate(atom.args[0], env, upper=upper)
            # a divisor of unknown size may have the lower limit 0, of which the quotient is 0
            return num // den if _nonzero(den) else 0
        case AtomKind.MIN | AtomKind.MAX:
            values = [evaluate(a, env, upper=upper) for a in atom.args]
            if all(isinstance(v, int | float) for v in values):
                return min(values) if atom.kind is AtomKind.MIN else max(values)
            import numpy as np

            pick = np.minimum if atom.kind is AtomKind.MIN else np.maximum
            result = values[0]
            for v in values[1:]:
                result = pick(result, v)
            return result


def _nonzero(den: Any) -> bool:
    """Return True if a divisor is not 0; arrays of divisors hold no 0."""
    return bool(den) if isinstance(den, int | float) else True


class Numbers:
    """Memoized evaluator of extents at fixed values of the symbols.

    Results are at least 0, as differences in an extent may be negative for sizes out of range.
    """

    __slots__ = ("env", "memo")

    def __init__(self, env: Env) -> None:
        self.env = env
        self.memo: dict[Poly, float] = {}

    def __call__(self, d: Dim) -> float:
        """Return the value of ``d``."""
        if not isinstance(d, Poly):
            return d
        value = self.memo.get(d)
        if value is None:
            value = self.memo[d] = max(evaluate(d, self.env), 0)
        return value
