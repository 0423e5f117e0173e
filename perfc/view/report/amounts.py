"""Evaluation of symbolic formulas into numbers of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir import Dim, Poly, evaluate, symbols
from perfc.passes.roofline.roofline import Ceiling

from .formats.document import Amount
from .units import Unit

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.fusion.fuse import KernelTable


def amount(formula: Dim, env: Mapping[str, int], unit: Unit, *, is_bound: bool = False) -> Amount:
    """Evaluate ``formula`` at ``env``; data-dependent symbols make the result a lower bound."""
    if not isinstance(formula, Poly):
        return Amount(formula, unit, formula, is_bound)
    is_open = any(s.key not in env for s in symbols(formula))
    # at the lower limits of data-dependent symbols a difference may be negative
    return Amount(max(evaluate(formula, env), 0), unit, formula, is_bound or is_open)


def open_symbols(report: Report) -> dict[str, int]:
    """Return data-dependent extents with the lower limits that totals use."""
    table = report.kernels
    limits = table.once("limits", {}, lambda: lower_limits(table))
    return {name: limits[name] for name in sorted(limits) if name not in report.env}


def lower_limits(table: KernelTable) -> dict[str, int]:
    """Return the lower limits of the symbols in the formulas of kernels."""
    # equal kernels have equal formulas
    kinds = {k.identity: k for k in table.kernels}.values()
    parts = ((k.work.flop, k.traffic.nbytes, k.repeat) for k in kinds)
    formulas = dict.fromkeys(d for formulas in parts for d in formulas if isinstance(d, Poly))
    return {s.key: s.lo for d in formulas for s in symbols(d)}


def key(ceiling: Ceiling) -> str:
    """Return the identifier of a ceiling in data formats and narrow columns."""
    return ceiling.name.lower()


def title(key: str) -> str:
    """Return the title of a ceiling from its identifier in data formats."""
    return Ceiling[key.upper()].value if key.upper() in Ceiling.__members__ else key


def ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, or 0 if ``whole`` is 0."""
    return part / whole if whole else 0.0
