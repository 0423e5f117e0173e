"""Symbolic extents: integer polynomials of symbols, floor quotients, minima and maxima."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, TypeAlias

from ..syntax.names import symbol_key, symbol_name

Dim: TypeAlias = "int | Poly"  # an extent
Monomial: TypeAlias = "tuple[Atom, ...]"  # a product of atoms, sorted by key; () of a constant
Interval: TypeAlias = "tuple[int | None, int | None]"  # least and largest; None: no limit


class AtomKind(Enum):
    """Meaning of a variable in a polynomial."""

    SYMBOL = "symbol"
    FLOOR = "floor"
    MIN = "min"
    MAX = "max"


class Atom:
    """A variable of a polynomial; interned, so equality is identity.

    A symbol has a range ``lo..hi`` (``hi`` may itself be symbolic, or None when unbounded); the
    other kinds have arguments: ``floor(args[0] / args[1])``, ``min(args)``, ``max(args)``.
    """

    __slots__ = ("args", "hi", "key", "kind", "lo")
    kind: AtomKind
    key: str
    args: tuple[Dim, ...]
    lo: int
    hi: Dim | None

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.kind, self.key, self.args, self.lo, self.hi)

    def __repr__(self) -> str:
        return self.key


_ATOMS: dict[tuple[object, ...], Atom] = {}  # every atom of the process


def _intern(kind: AtomKind, key: str, args: tuple[Dim, ...], lo: int, hi: Dim | None) -> Atom:
    identity = (kind.value, key, args, lo, hi)
    atom = _ATOMS.get(identity)
    if atom is None:
        atom = object.__new__(Atom)
        atom.kind, atom.key, atom.args, atom.lo, atom.hi = kind, key, args, lo, hi
        _ATOMS[identity] = atom
    return atom


class Poly:
    """A sum of ``coefficient * monomial`` in canonical order, never a plain integer.

    Arithmetic returns an ``int`` as soon as no symbol is left: ``type(d) is int`` means that the
    extent is known. Equality is structural.

    >>> n = symbol("N")
    >>> str((n * 2 + 4) // 2 - 1), (n - n)
    ('N + 1', 0)
    """

    __slots__ = ("_hash", "terms")  # the hash is stored, as polynomials are keys of caches
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __reduce__(self) -> tuple[Any, ...]:
        return Poly, (self.terms,)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poly) and self.terms == other.terms)

    def __add__(self, other: Dim) -> Dim:
        return _add(self, other) if other else self

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return _add(self, other * -1)

    def __rsub__(self, other: int) -> Dim:
        return _add(_mul(self, -1), other)

    def __neg__(self) -> Dim:
        return _mul(self, -1)

    def __mul__(self, other: Dim) -> Dim:
        return self if other == 1 else _mul(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return _floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return _floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - _floordiv(self, other) * other

    def __rmod__(self, other: int) -> Dim:
        return other - _floordiv(other, self) * self

    def __str__(self) -> str:
        out = ""
        for monomial, coefficient in self.terms:
            body = "*".join(a.key for a in monomial)
            size = abs(coefficient)
            text = str(size) if not monomial else body if size == 1 else f"{size}*{body}"
            sign = " - " if coefficient < 0 else " + "
            out += sign + text if out else ("-" if coefficient < 0 else "") + text
        return out

    __repr__ = __str__

    def atoms(self) -> Iterator[Atom]:
        """Yield every atom of the terms, without those nested inside atoms."""
        for monomial, _ in self.terms:
            yield from monomial


def symbol(name: str, lo: int = 1, hi: Dim | None = None) -> Poly:
    """Return the symbol ``name`` with values in ``lo..hi``; equal arguments give equal symbols."""
    return _of_atom(_intern(AtomKind.SYMBOL, symbol_key(name), (), lo, hi))


def _of_atom(atom: Atom) -> Poly:  # one term: the atom alone, with the coefficient 1
    return Poly((((atom,), 1),))


def _order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:  # highest degree first
    return -len(term[0]), [a.key for a in term[0]]


def _collect(parts: Iterable[tuple[Monomial, int]]) -> Dim:  # sum of terms; equal ones add up
    total: dict[Monomial, int] = {}
    for monomial, coefficient in parts:
        total[monomial] = total.get(monomial, 0) + coefficient
    terms = [(m, c) for m, c in total.items() if c]
    if not terms:
        return 0
    if len(terms) == 1:
        return Poly((terms[0],)) if terms[0][0] else terms[0][1]  # a constant alone is an int
    return Poly(tuple(sorted(terms, key=_order)))


def _terms(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    return d.terms if isinstance(d, Poly) else ((((), d),) if d else ())


@lru_cache(maxsize=1 << 16)  # sizes of caches bound the memory of a long process
def _add(a: Dim, b: Dim) -> Dim:
    return _collect((*_terms(a), *_terms(b)))


@lru_cache(maxsize=1 << 16)
def _mul(a: Dim, b: Dim) -> Dim:  # cached, as shapes repeat
    return _collect(
        (tuple(sorted(m + n, key=lambda x: x.key)) if m and n else m or n, c * d)
        for m, c in _terms(a)
        for n, d in _terms(b)
    )


def _divide_exactly(num: Dim, den: Poly) -> Dim | None:
    """Return the polynomial q with ``q * den == num``, by long division on leading terms."""
    lead, lead_c = den.terms[0]
    rest, result = num, _collect(())  # the result begins at 0
    # each step cancels the leading term; a division of more than 64 steps is given up
    for _ in range(64):
        if rest == 0:
            return result
        monomial, c = _terms(rest)[0]
        factors = list(monomial)
        for atom in lead:
            if atom not in factors:
                return None
            factors.remove(atom)
        if c % lead_c:
            return None
        step = _collect([(tuple(factors), c // lead_c)])
        result = result + step
        rest = rest - step * den
    return None


def _floor_atom(num: Dim, den: Dim) -> Dim:  # a quotient that nothing simplifies
    over = str(num) if len(_terms(num)) < 2 and "-" not in str(num) else f"({num})"
    under = str(den) if isinstance(den, int) or _is_atom(den) else f"({den})"
    return _of_atom(_intern(AtomKind.FLOOR, f"({over}//{under})", (num, den), 0, None))


@lru_cache(maxsize=1 << 14)
def _floordiv(num: Dim, den: Dim) -> Dim:
    if den == 0:
        raise ZeroDivisionError("extent divided by zero")
    if isinstance(den, Poly):
        exact = _divide_exactly(num, den)
        return exact if exact is not None else _floor_atom(num, den)
    if den < 0:
        return _floordiv(-num, -den)
    if not isinstance(num, Poly):
        return num // den
    # terms that the divisor divides leave the quotient, and the constant leaves a remainder in it
    whole = _collect((m, c // den) for m, c in num.terms if not m or c % den == 0)
    rest = num - whole * den
    if not isinstance(rest, Poly):
        return whole + rest // den
    # floor(-x / d) = -ceil(x / d): quotients of one extent get one form, and can cancel
    if rest.terms[0][1] < 0:
        return whole - _floordiv(-rest + (den - 1), den)
    return whole + _reduced_quotient(rest, den)


def _reduced_quotient(rest: Poly, den: int) -> Dim:  # common factors cancelled, floors merged
    inner = [(m, c) for m, c in rest.terms if m]
    if len(inner) == 1 and inner[0][1] == 1 and len(inner[0][0]) == 1:
        atom = inner[0][0][0]
        if atom.kind is AtomKind.FLOOR and isinstance(atom.args[1], int):
            # floor((floor(x / a) + c) / b) == floor((x + c * a) / (a * b))
            a = atom.args[1]
            return _floordiv(atom.args[0] + (rest - Poly((inner[0],))) * a, a * den)
    g = math.gcd(den, *(c for m, c in inner))
    if g > 1:
        reduced = _collect((m, c // g) for m, c in rest.terms)
        return _floordiv(reduced, den // g)
    return _floor_atom(rest, den)


def ceil_div(num: Dim, den: Dim) -> Dim:
    """Return ``ceil(num / den)`` for a positive ``den``."""
    return (num + (den - 1)) // den


def _extremum(kind: AtomKind, dims: tuple[Dim, ...]) -> Dim:  # nested extrema become one
    arguments: list[Dim] = []
    for d in dims:
        nested = d.terms[0][0][0] if isinstance(d, Poly) and _is_atom(d, kind) else None
        for x in nested.args if nested else (d,):
            if not any(_dominated(kind, x, y) for y in arguments):
                arguments = [*(y for y in arguments if not _dominated(kind, y, x)), x]
    if len(arguments) == 1:
        return arguments[0]
    args = tuple(sorted(arguments, key=str))
    key = f"{kind.value}({', '.join(map(str, args))})"
    return _of_atom(_intern(kind, key, args, 0, None))


def _is_atom(d: Poly, kind: AtomKind | None = None) -> bool:
    (monomial, c), *rest = d.terms
    return not rest and c == 1 and len(monomial) == 1 and kind in (None, monomial[0].kind)


def lone_atom(d: Dim) -> tuple[Atom | None, int]:
    """Return the atom and the number of ``atom + number``; (None, 0) for any other extent."""
    rest = [t for t in _terms(d) if t[0]]
    if len(rest) != 1 or rest[0][1] != 1 or len(rest[0][0]) != 1:
        return None, 0
    return rest[0][0][0], sum(c for m, c in _terms(d) if not m)


def _dominated(kind: AtomKind, x: Dim, y: Dim) -> bool:
    """Return True if ``x`` cannot be the extremum because of ``y``."""
    return bool(at_most(y, x)) if kind is AtomKind.MIN else bool(at_most(x, y))


@lru_cache(maxsize=1 << 12)
def dim_min(*dims: Dim) -> Dim:
    """Return the minimum of ``dims``, simplified by the ranges of their symbols."""
    return _extremum(AtomKind.MIN, dims)


@lru_cache(maxsize=1 << 12)
def dim_max(*dims: Dim) -> Dim:
    """Return the maximum of ``dims``, simplified by the ranges of their symbols."""
    return _extremum(AtomKind.MAX, dims)


def _times(a: Interval, b: Interval) -> Interval:  # of a product; wider than exact if unbounded
    if None not in (*a, *b):
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return min(corners), max(corners)
    if a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0:
        return a[0] * b[0], None
    return None, None


def _atom_interval(atom: Atom) -> Interval:
    match atom.kind:
        case AtomKind.SYMBOL:
            return atom.lo, None if atom.hi is None else interval(atom.hi)[1]
        case AtomKind.FLOOR:
            (nlo, nhi), (dlo, dhi) = interval(atom.args[0]), interval(atom.args[1])
            if dlo is not None and dlo == dhi and dlo > 0:
                # an unbounded end stays None, and 0 stays 0
                return (nlo and nlo // dlo), (nhi and nhi // dlo)
            # otherwise limits are known only for a positive divisor and a dividend of 0 or more
            if dlo is None or dlo <= 0 or nlo is None or nlo < 0:
                return None, None
            return (0 if dhi is None else nlo // dhi), (None if nhi is None else nhi // dlo)
        case AtomKind.MIN:
            los, his = zip(*(interval(a) for a in atom.args), strict=True)
            finite = [h for h in his if h is not None]
            return (None if None in los else min(los)), (min(finite) if finite else None)
        case AtomKind.MAX:
            los, his = zip(*(interval(a) for a in atom.args), strict=True)
            known = [x for x in los if x is not None]
            return (max(known) if known else None), (None if None in his else max(his))


@lru_cache(maxsize=1 << 14)
def interval(d: Dim) -> Interval:
    """Return lower and upper limits of ``d`` over the ranges of its symbols; None if unbounded."""
    if not isinstance(d, Poly):
        return d, d
    lo: int | None = 0
    hi: int | None = 0
    for monomial, c in d.terms:
        part: Interval = (1, 1)
        for atom in monomial:
            part = _times(part, _atom_interval(atom))
        plo, phi = part if c > 0 else (part[1], part[0])
        lo = None if lo is None or plo is None else lo + c * plo
        hi = None if hi is None or phi is None else hi + c * phi
    return lo, hi


def at_most(a: Dim, b: Dim) -> bool | None:
    """Return True if ``a <= b`` for all values of the symbols, False if for none, else None."""
    lo, hi = interval(b - a)
    if lo is not None and lo >= 0:
        return True
    if hi is not None and hi < 0:
        return False
    return True if _structurally_at_most(a, b) else None


def _structurally_at_most(a: Dim, b: Dim) -> bool:
    """Return True if an argument of a minimum or maximum proves ``a <= b``."""
    if isinstance(b, Poly) and _is_atom(b, AtomKind.MIN):
        return all(at_most(a, x) for x in b.terms[0][0][0].args)
    if isinstance(a, Poly) and _is_atom(a, AtomKind.MIN):
        return any(at_most(x, b) for x in a.terms[0][0][0].args)
    if isinstance(b, Poly) and _is_atom(b, AtomKind.MAX):
        return any(at_most(a, x) for x in b.terms[0][0][0].args)
    # quotients by one number are in the order of their dividends
    (x, added_x), (y, added_y) = lone_atom(a), lone_atom(b)
    if x and y and x.kind is y.kind is AtomKind.FLOOR and x.args[1] == y.args[1]:
        ahead = y.args[0] - x.args[0] + (added_y - added_x) * y.args[1]
        return ahead >= 0 if isinstance(ahead, int) else False
    return False


def same(a: Dim, b: Dim) -> bool | None:
    """Return True if ``a == b`` for all values of the symbols, False if for none, else None."""
    if a == b or (isinstance(a, int) and isinstance(b, int)):
        return a == b
    lo, hi = interval(a - b)
    return False if (lo is not None and lo > 0) or (hi is not None and hi < 0) else None


def same_extents(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Return True if two shapes may be equal."""
    return len(a) == len(b) and all(same(x, y) is not False for x, y in zip(a, b, strict=True))


def _substitute_atom(atom: Atom, env: Mapping[str, Dim]) -> Dim:
    match atom.kind:
        case AtomKind.SYMBOL:
            name = atom.key if atom.key in env else symbol_name(atom.key)  # unquoted
            return env[name] if name in env else _of_atom(atom)
        case AtomKind.FLOOR:
            return substitute(atom.args[0], env) // substitute(atom.args[1], env)
        case AtomKind.MIN:
            return dim_min(*(substitute(a, env) for a in atom.args))
        case AtomKind.MAX:
            return dim_max(*(substitute(a, env) for a in atom.args))


def substitute(d: Dim, env: Mapping[str, Dim]) -> Dim:
    """Replace symbols, by name: ``substitute(3*N, {"N": 8})`` is ``24``. Others stay."""
    if not isinstance(d, Poly):
        return d
    total: Dim = 0
    for monomial, c in d.terms:
        total = total + math.prod((_substitute_atom(a, env) for a in monomial), start=c)
    return total


def symbols(d: Dim) -> set[Atom]:
    """Return every symbol in ``d``, also inside quotients and extrema, but not in ranges."""
    if not isinstance(d, Poly):
        return set()
    result: set[Atom] = set()
    for atom in d.atoms():
        if atom.kind is AtomKind.SYMBOL:
            result.add(atom)
        else:
            result |= {s for a in atom.args for s in symbols(a)}
    return result
