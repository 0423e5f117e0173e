"""Numbers of the report from formulas of the passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfc.ir.dim import Dim, Poly, symbols
from perfc.ir.evaluate import evaluate
from perfc.passes.roofline import Ceiling

from .document import Amount
from .units import Unit


def amount(formula: Dim, env: Mapping[str, int], unit: Unit, *, is_bound: bool = False) -> Amount:
    """``formula`` at ``env``; a bound where it has symbols that only running can tell."""
    if not isinstance(formula, Poly):
        return Amount(formula, unit, formula, is_bound)
    is_open = any(s.key not in env for s in symbols(formula))
    return Amount(max(evaluate(formula, env), 0), unit, formula, is_bound or is_open)


def open_symbols(formulas: Iterable[Dim], env: Mapping[str, int]) -> tuple[str, ...]:
    """Symbols without a value: extents that depend on the data."""
    found = {s.key for d in formulas if isinstance(d, Poly) for s in symbols(d)}
    return tuple(sorted(found - set(env)))


def key(ceiling: Ceiling) -> str:
    """A ceiling's name in data formats and narrow columns."""
    return ceiling.name.lower()


def ratio(part: float, whole: float) -> float:
    """``part / whole``, 0 for nothing of nothing."""
    return part / whole if whole else 0.0
