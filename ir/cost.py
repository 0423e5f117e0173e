"""Arithmetic by unit and compulsory traffic: counts with algebra, never rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import CodeType

from .dim import Dim, Monomial, Poly, substitute
from .record import record
from .types import DType


def dim_sum(parts: Iterable[Dim]) -> Dim:
    """Sum of many extents in one pass; faster than repeated ``+`` on polynomials."""
    total = 0
    terms: dict[Monomial, int] = {}
    for d in parts:
        if isinstance(d, Poly):
            for monomial, c in d.terms:
                terms[monomial] = terms.get(monomial, 0) + c
        else:
            total += d
    result: Dim = total
    for monomial, c in terms.items():
        if c:
            result = result + Poly(((monomial, c),)) if monomial else result + c
    return result


@record
class Work:
    """Operations by unit. One mac is one multiply–accumulate, two flop.

    Args:
        mac: multiply–accumulates a matrix unit may do, as a dense kernel executes them.
        alu: additions, multiplications, comparisons … on the vector unit.
        sfu: exp, log, tanh, erf, sqrt, division … on the special-function unit.
        integer: integer and index arithmetic; not flop.
        dtype: element type the macs are done in; None where that of the first operand holds.
        effective_mac: macs that matter to the result when a mask makes some of them idle (causal
            attention); None where all do.
        is_bound: whether some of the work follows from what only running tells, so that the truth
            is larger.
    """

    mac: Dim = 0
    alu: Dim = 0
    sfu: Dim = 0
    integer: Dim = 0
    dtype: DType | None = None
    effective_mac: Dim | None = None
    is_bound: bool = False

    @property
    def flop(self) -> Dim:
        """Floating-point operations: ``2 * mac + alu + sfu``."""
        return self.mac * 2 + self.alu + self.sfu

    @property
    def floor_mac(self) -> Dim:
        """Macs that no kernel can leave out."""
        return self.mac if self.effective_mac is None else self.effective_mac

    def times(self, count: Dim) -> Work:
        """The work of ``count`` repetitions."""
        effective = None if self.effective_mac is None else self.effective_mac * count
        return Work(
            self.mac * count,
            self.alu * count,
            self.sfu * count,
            self.integer * count,
            self.dtype,
            effective,
            self.is_bound,
        )

    def at(self, env: dict[str, Dim]) -> Work:
        """The work with symbols replaced."""
        effective = None if self.effective_mac is None else substitute(self.effective_mac, env)
        return Work(
            substitute(self.mac, env),
            substitute(self.alu, env),
            substitute(self.sfu, env),
            substitute(self.integer, env),
            self.dtype,
            effective,
            self.is_bound,
        )


NO_WORK = Work()
UNITS = ("mac", "alu", "sfu", "integer")
"""The counts of ``Work`` that a formula may state."""


@cache
def _compiled(formula: str) -> CodeType:
    return compile(formula, "<formula>", "eval")


def formula_value(formula: str, letters: Mapping[str, Dim]) -> Dim:
    """Returns the value of a formula, text of perfc's own source, never of a model.

    Args:
        formula: arithmetic of whole numbers.
        letters: values of its letters.

    >>> formula_value("m*n", {"m": 2, "n": 3})
    6
    """
    value: Dim = eval(_compiled(formula), {"__builtins__": {}}, letters)
    return value


def work_of(formulas: Mapping[str, str], letters: Mapping[str, Dim], dtype: DType | None) -> Work:
    """The work that ``formulas`` state with these numbers for their letters.

    Args:
        formulas: by unit, arithmetic of whole numbers; what is not in ``UNITS`` is left out.
        letters: values of the letters.
        dtype: element type of the macs, kept where macs are counted.

    >>> work_of({"mac": "m*n*k", "alu": "m*n"}, {"m": 2, "n": 3, "k": 4}, None).mac
    24
    """
    mac, alu, sfu, integer = (
        formula_value(formulas[unit], letters) if unit in formulas else 0 for unit in UNITS
    )
    return Work(mac, alu, sfu, integer, dtype if "mac" in formulas else None)


def total_work(parts: Iterable[Work]) -> Work:
    """Sum by unit; the element type of a sum of several is not defined."""
    works = list(parts)
    masked = any(w.effective_mac is not None for w in works)
    return Work(
        dim_sum(w.mac for w in works),
        dim_sum(w.alu for w in works),
        dim_sum(w.sfu for w in works),
        dim_sum(w.integer for w in works),
        effective_mac=dim_sum(w.floor_mac for w in works) if masked else None,
        is_bound=any(w.is_bound for w in works),
    )


@record
class Traffic:
    """Compulsory bytes: what must be read and written even with an infinite cache.

    ``is_bound`` says that some operand's size is not known, so that the truth is larger.
    """

    read_bytes: Dim = 0
    write_bytes: Dim = 0
    is_bound: bool = False

    @property
    def nbytes(self) -> Dim:
        """Read and written together."""
        return self.read_bytes + self.write_bytes

    def times(self, count: Dim) -> Traffic:
        """The traffic of ``count`` repetitions, nothing kept in between."""
        return Traffic(self.read_bytes * count, self.write_bytes * count, self.is_bound)


NO_TRAFFIC = Traffic()


def total_traffic(parts: Iterable[Traffic]) -> Traffic:
    """Sum of reads and writes."""
    all_parts = list(parts)
    return Traffic(
        dim_sum(t.read_bytes for t in all_parts),
        dim_sum(t.write_bytes for t in all_parts),
        any(t.is_bound for t in all_parts),
    )
