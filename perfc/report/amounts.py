"""Numbers of the report from formulas of the passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.dim import Dim, Poly, symbols
from perfc.ir.evaluate import evaluate
from perfc.passes.roofline import Ceiling

from .document import Amount
from .units import Unit

if TYPE_CHECKING:
    from perfc.api import Report


def amount(formula: Dim, env: Mapping[str, int], unit: Unit, *, is_bound: bool = False) -> Amount:
    """``formula`` at ``env``; a bound where it has symbols that only running can tell."""
    if not isinstance(formula, Poly):
        return Amount(formula, unit, formula, is_bound)
    is_open = any(s.key not in env for s in symbols(formula))
    return Amount(max(evaluate(formula, env), 0), unit, formula, is_bound or is_open)


def open_symbols(report: Report) -> dict[str, int]:
    """Extents that depend on the data, and their lower limits, which all totals use."""
    formulas = (
        d
        for k in report.kernels.kernels
        for d in (k.work.flop, k.traffic.nbytes, k.repeat)
        if isinstance(d, Poly)
    )
    found = {s.key: s.lo for d in dict.fromkeys(formulas) for s in symbols(d)}
    return {name: found[name] for name in sorted(found) if name not in report.env}


def key(ceiling: Ceiling) -> str:
    """A ceiling's name in data formats and narrow columns."""
    return ceiling.name.lower()


def title(key: str) -> str:
    """The words for a ceiling's name in data formats."""
    return Ceiling[key.upper()].value if key.upper() in Ceiling.__members__ else key


def ratio(part: float, whole: float) -> float:
    """``part / whole``, 0 for nothing of nothing."""
    return part / whole if whole else 0.0
