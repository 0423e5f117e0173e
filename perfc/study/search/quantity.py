"""Return the quantities of a candidate, as ``perfc analyze`` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from perfc.api import Report
from perfc.errors import ParseError
from perfc.ir import evaluate, record
from perfc.view.report.sections.verdict import memory_need
from perfc.view.report.units import SYMBOLS, Unit


class Objective(Enum):
    """A quantity to minimize, or the user's score to maximize."""

    LATENCY = "latency"
    MEMORY = "memory"
    ENERGY = "energy"
    FLOP = "flop"
    SCORE = "score"

    @property
    def column(self) -> str:
        """Return the name of the quantity in data formats, with the unit."""
        return COLUMNS[self][0]

    @property
    def unit(self) -> Unit:
        """Return the unit of the quantity."""
        return COLUMNS[self][1]

    @property
    def symbol(self) -> str:
        """Return the symbol of the unit; empty for the score."""
        # `SYMBOLS` has no bytes, as a text scales them by 1024 and not by 1000
        return "B" if self is Objective.MEMORY else SYMBOLS.get(self.unit, "")

    @property
    def is_maximized(self) -> bool:
        """Return True for the score."""
        return self is Objective.SCORE


COLUMNS: Mapping[Objective, tuple[str, Unit]] = {
    Objective.LATENCY: ("time_s", Unit.SECOND),
    Objective.MEMORY: ("memory_bytes", Unit.BYTE),
    Objective.ENERGY: ("energy_j", Unit.JOULE),
    Objective.FLOP: ("flop", Unit.FLOP),
    Objective.SCORE: ("score", Unit.NONE),
}
"""Column in data formats and unit of each quantity."""


@record
class Quantities:
    """Quantities of one model on the target.

    Args:
        values: requested quantities, in SI units.
        low_s: lower end of the 90 % prediction interval of the time; None without a time.
        high_s: its upper end.
    """

    values: Mapping[Objective, float]
    low_s: float | None = None
    high_s: float | None = None

    @classmethod
    def of(cls, report: Report, wanted: frozenset[Objective]) -> Quantities:
        """Return the requested quantities of a report.

        Raises:
            ParseError: the target has no power model.
        """
        # the score is in no report: `MEASURES` lacks it
        values = {name: measure(report) for name, measure in MEASURES.items() if name in wanted}
        if Objective.LATENCY not in wanted:
            return cls(values)
        total = report.prediction.total
        return cls(values, total.low_s, total.high_s)


def energy_j(report: Report) -> float:
    """Return the predicted energy of the board in one run.

    Raises:
        ParseError: the target has no power model.
    """
    energy = report.prediction.energy
    if energy is None:
        hint = "latency, memory, flop and score are known for every target"
        raise ParseError(f"no power model for {report.machine.name}", hint=hint, where="energy")
    return energy.energy_j


def flop(report: Report) -> float:
    """Return the FLOPs of one run."""
    return float(evaluate(report.cost.work.flop, report.env))


MEASURES: Mapping[Objective, Callable[[Any], float]] = {
    Objective.LATENCY: lambda report: float(report.prediction.total.time_s),
    Objective.MEMORY: lambda report: float(memory_need(report).total_bytes),
    Objective.ENERGY: energy_j,
    Objective.FLOP: flop,
}
"""Functions of the quantities that a report has."""
