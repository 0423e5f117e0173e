"""Counts of an operator as symbolic numbers: operations per hardware unit, compulsory traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import CodeType
from typing import TypeAlias

from .record import record
from .symbolic.dim import Dim, Monomial, Poly, dim_min, substitute
from .tensors.types import DType

Extents: TypeAlias = "Mapping[str, Dim]"
"""Values of the variables of formulas."""
Parts: TypeAlias = "Mapping[int, Dim]"
"""Bytes or elements of operands, by the positions of the operands."""


def dim_sum(parts: Iterable[Dim]) -> Dim:
    """Return the sum of many extents in one pass; faster than repeated ``+`` on polynomials."""
    # numbers and coefficients of equal monomials are added first, polynomials built at the end
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
    """Operations per hardware unit. One MAC is one multiply–accumulate, two FLOP.

    Args:
        mac: multiply–accumulates of a dense kernel, which matrix units can execute.
        alu: additions, multiplications, comparisons … on the vector unit.
        sfu: exp, log, tanh, erf, sqrt, division … on the special-function unit.
        integer: integer and index arithmetic; not counted as FLOP.
        dtype: element type of the MACs; None if it is that of the operator's first operand.
        effective_mac: MACs that affect the result if a mask makes some of them redundant (causal
            attention); None if all do.
        is_bound: True if some of the work depends on data, so that the true count
            may be larger.
        least_alu: fewest vector operations, if ``alu`` is the mean over data (paths of trees).
    """

    mac: Dim = 0
    alu: Dim = 0
    sfu: Dim = 0
    integer: Dim = 0
    dtype: DType | None = None
    effective_mac: Dim | None = None
    is_bound: bool = False
    least_alu: Dim | None = None

    @property
    def flop(self) -> Dim:
        """Return floating-point operations: ``2 * mac + alu + sfu``."""
        return self.mac * 2 + self.alu + self.sfu

    @property
    def floor_mac(self) -> Dim:
        """Return the lower bound of MACs: those that affect the result."""
        return self.mac if self.effective_mac is None else self.effective_mac

    @property
    def floor_alu(self) -> Dim:
        """Return the lower bound of vector operations."""
        return self.alu if self.least_alu is None else self.least_alu

    def times(self, count: Dim) -> Work:
        """Return the work of ``count`` repetitions."""
        effective = None if self.effective_mac is None else self.effective_mac * count
        return Work(
            self.mac * count,
            self.alu * count,
            self.sfu * count,
            self.integer * count,
            self.dtype,
            effective,
            self.is_bound,
            None if self.least_alu is None else self.least_alu * count,
        )

    def at(self, env: dict[str, Dim]) -> Work:
        """Return the work with symbols replaced."""
        effective = None if self.effective_mac is None else substitute(self.effective_mac, env)
        return Work(
            substitute(self.mac, env),
            substitute(self.alu, env),
            substitute(self.sfu, env),
            substitute(self.integer, env),
            self.dtype,
            effective,
            self.is_bound,
            None if self.least_alu is None else substitute(self.least_alu, env),
        )


NO_WORK = Work()
UNITS = ("mac", "alu", "sfu", "integer")
"""Fields of ``Work`` for which operators declare formulas."""


@cache
def _compiled(formula: str) -> CodeType:
    """Return the code of a formula; operators have few distinct ones."""
    return compile(formula, "<formula>", "eval")


def formula_value(formula: str, letters: Extents) -> Dim:
    """Return the value of a formula, which must come from perfc's source, never from a model.

    Args:
        formula: integer arithmetic.
        letters: values of its variables.

    >>> formula_value("m*n", {"m": 2, "n": 3})
    6
    """
    # values may be polynomials, so that the formula is evaluated as Python, with no builtin but min
    value: Dim = eval(_compiled(formula), {"__builtins__": {}, "min": dim_min}, letters)
    return value


def work_of(formulas: Mapping[str, str], letters: Extents, dtype: DType | None) -> Work:
    """Return the work that ``formulas`` give for these values of their variables.

    Args:
        formulas: integer arithmetic per unit; keys outside ``UNITS`` are ignored.
        letters: values of the variables.
        dtype: element type of the MACs; dropped if the formulas count no MACs.

    >>> work_of({"mac": "m*n*k", "alu": "m*n"}, {"m": 2, "n": 3, "k": 4}, None).mac
    24
    """
    mac, alu, sfu, integer = (
        formula_value(formulas[unit], letters) if unit in formulas else 0 for unit in UNITS
    )
    return Work(mac, alu, sfu, integer, dtype if "mac" in formulas else None)


def total_work(parts: Iterable[Work]) -> Work:
    """Return the sum per unit; a sum of different element types has no element type."""
    works = list(parts)
    # without any mask the field stays None, so that it is not shown
    masked = any(w.effective_mac is not None for w in works)
    varying = any(w.least_alu is not None for w in works)
    return Work(
        dim_sum(w.mac for w in works),
        dim_sum(w.alu for w in works),
        dim_sum(w.sfu for w in works),
        dim_sum(w.integer for w in works),
        effective_mac=dim_sum(w.floor_mac for w in works) if masked else None,
        is_bound=any(w.is_bound for w in works),
        least_alu=dim_sum(w.floor_alu for w in works) if varying else None,
    )


@record
class Traffic:
    """Compulsory traffic: bytes that must be read and written even with an infinite cache.

    ``is_bound`` is True if the size of an operand is unknown, so that the true traffic is larger.
    """

    read_bytes: Dim = 0
    write_bytes: Dim = 0
    is_bound: bool = False

    @property
    def nbytes(self) -> Dim:
        """Return bytes read plus bytes written."""
        return self.read_bytes + self.write_bytes

    def times(self, count: Dim) -> Traffic:
        """Return the traffic of ``count`` repetitions without reuse between them."""
        return Traffic(self.read_bytes * count, self.write_bytes * count, self.is_bound)


NO_TRAFFIC = Traffic()


def total_traffic(parts: Iterable[Traffic]) -> Traffic:
    """Return the sum of reads and writes."""
    all_parts = list(parts)
    return Traffic(
        dim_sum(t.read_bytes for t in all_parts),
        dim_sum(t.write_bytes for t in all_parts),
        any(t.is_bound for t in all_parts),
    )
