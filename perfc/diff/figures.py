"""What a model amounts to on a target: counts, bounds and estimates, each with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir.facts import Origin
from perfc.ir.record import record
from perfc.report import memory, summary
from perfc.report.document import Amount
from perfc.report.summary import total as both_ways
from perfc.report.units import Unit

if TYPE_CHECKING:
    from perfc.api import Report


class Metric(Enum):
    """A number that a model has on a target: its name, its unit, its title."""

    TIME = ("time", Unit.SECOND, "time")
    FLOOR = ("floor", Unit.SECOND, "floor")
    ENERGY = ("energy", Unit.JOULE, "energy")
    FLOP = ("flop", Unit.FLOP, "work")
    MAC = ("mac", Unit.MAC, "matrix work")
    TRAFFIC = ("traffic", Unit.BYTE, "traffic")
    PARAMETERS = ("parameters", Unit.COUNT, "parameters")
    WEIGHTS = ("weights", Unit.BYTE, "weights")
    PEAK_MEMORY = ("peak_memory", Unit.BYTE, "peak memory")
    KERNELS = ("kernels", Unit.COUNT, "launches")
    UNKNOWN = ("unknown", Unit.SHARE, "unknown")

    key: str
    unit: Unit
    title: str

    def __init__(self, key: str, unit: Unit, title: str) -> None:
        self.key, self.unit, self.title = key, unit, title

    __hash__ = object.__hash__


BY_KEY: Mapping[str, Metric] = {m.key: m for m in Metric}


ESTIMATES = (Metric.TIME, Metric.ENERGY)
"""What predictors say, and what their intervals of a difference are of."""


@record
class Figure:
    """One number of a model.

    Args:
        value: in the metric's SI unit.
        origin: how it was come by.
        is_bound: the truth may be larger, because something is not known.
        low: lower end of the 90 % interval of an estimate, None where there is none.
        high: upper end.
    """

    value: float
    origin: Origin = Origin.COUNTED
    is_bound: bool = False
    low: float | None = None
    high: float | None = None


def figures(report: Report) -> dict[Metric, Figure]:
    """Every metric of an analysis that is known."""
    s = summary.collect(report, memory.collect(report))
    nodes = report.cost.nodes
    opaque = sum(c.tier.value in ("bytes only", "unknown") for c in nodes.values())
    energy = energy_of(report)
    return {
        Metric.TIME: estimated(report),
        **({} if energy is None else {Metric.ENERGY: energy}),
        Metric.FLOOR: Figure(s.floor_s.value or 0.0, Origin.BOUND),
        Metric.FLOP: counted(s.flop),
        Metric.MAC: counted(s.mac),
        Metric.TRAFFIC: counted(both_ways(s.read_bytes, s.write_bytes)),
        Metric.PARAMETERS: counted(s.parameters),
        Metric.WEIGHTS: counted(s.weight_bytes),
        Metric.PEAK_MEMORY: counted(s.peak_activation_bytes),
        Metric.KERNELS: Figure(s.launches),
        Metric.UNKNOWN: Figure(opaque / len(nodes) if nodes else 0.0),
    }


def counted(amount: Amount) -> Figure:
    """A count, or the least it can be."""
    return Figure(amount.value or 0, Origin.COUNTED, amount.is_bound)


def estimated(report: Report) -> Figure:
    """The time that is predicted for one run, with its 90 % interval."""
    total = report.prediction.total
    return Figure(total.time_s, Origin.PREDICTED, report.cost.is_bound, total.low_s, total.high_s)


def energy_of(report: Report) -> Figure | None:
    """The energy of the board in one run; None for targets whose power nobody fitted."""
    e = report.prediction.energy
    if e is None:
        return None
    return Figure(e.energy_j, Origin.PREDICTED, report.cost.is_bound, e.low_j, e.high_j)
