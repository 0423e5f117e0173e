"""Figures of a model on a target: counts, bounds and estimates, each with its origin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir import Origin, record
from perfc.view.report.units import (
    DASH,
    LOWER_BOUND,
    MOST_TIMES,
    Unit,
    change_text,
    quantity,
    share,
)

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.deployment.prices import Offer
    from perfc.view.report.formats.document import Amount


class Metric(Enum):
    """A metric of a model on a target: key, unit and title."""

    TIME = ("time", Unit.SECOND, "time")
    FLOOR = ("floor", Unit.SECOND, LOWER_BOUND)
    ENERGY = ("energy", Unit.JOULE, "energy")
    COST = ("cost", Unit.USD, "price of a million images")  # or tokens, or runs
    FLOP = ("flop", Unit.FLOP, "work")
    MAC = ("mac", Unit.MAC, "matrix work")
    TRAFFIC = ("traffic", Unit.BYTE, "traffic")
    PARAMETERS = ("parameters", Unit.COUNT, "parameters")
    WEIGHTS = ("weights", Unit.BYTE, "weights")
    PEAK_MEMORY = ("peak_memory", Unit.BYTE, "peak memory")
    KERNELS = ("kernels", Unit.COUNT, "launches")
    UNKNOWN = ("unknown", Unit.SHARE, "unknown")  # share of nodes without known operations

    key: str
    unit: Unit
    title: str

    def __init__(self, key: str, unit: Unit, title: str) -> None:
        self.key, self.unit, self.title = key, unit, title

    __hash__ = object.__hash__  # faster than Enum's hash of the name


BY_KEY: Mapping[str, Metric] = {m.key: m for m in Metric}
"""Metrics by their name in budgets and JSON."""


ESTIMATES = (Metric.TIME, Metric.ENERGY)
"""Predicted metrics, whose differences have prediction intervals."""
ROUNDING = 1e-9
"""Relative difference up to which sums in another order count as equal."""
NANOSECOND = 1e-9
"""Seconds: the shortest time that is printed, so that no shorter change is one."""


@record
class Figure:
    """One number of a model.

    Args:
        value: value in the SI unit of the metric.
        origin: origin of the value.
        is_bound: True for a lower bound, because something is unknown.
        low: lower end of the 90 % prediction interval; None without one.
        high: upper end of the interval.
    """

    value: float
    origin: Origin = Origin.COUNTED
    is_bound: bool = False
    low: float | None = None
    high: float | None = None


def figures(report: Report) -> dict[Metric, Figure]:
    """Return every known metric of an analysis."""
    from perfc.view.report.memory_sections import memory
    from perfc.view.report.sections import summary
    from perfc.view.report.sections.summary import total as both_ways

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


def cost_of(report: Report, offer: Offer) -> Figure:
    """Return the price of a million images, tokens or else runs, on a fully used machine."""
    rate = offer.of(1e6) / report.verdict.throughput.per_run
    time = estimated(report)
    low, high = (end and end * rate for end in (time.low, time.high))
    return replace(time, value=time.value * rate, low=low, high=high)


def is_equal(metric: Metric, old: Figure, new: Figure, time_s: float = 0.0) -> bool:
    """Return True if two values differ by no more than rounding, or what a nanosecond of a run is.

    Args:
        metric: their metric.
        old: one value.
        new: the other.
        time_s: time of the run, of which estimates have a resolution of `NANOSECOND`.
    """
    share_of_run = NANOSECOND / time_s if metric in ESTIMATES and time_s > 0 else 0.0
    return math.isclose(old.value, new.value, rel_tol=max(ROUNDING, min(share_of_run, 1e-3)))


def counted(amount: Amount) -> Figure:
    """Return the figure of a count or its lower bound."""
    return Figure(amount.value or 0, Origin.COUNTED, amount.is_bound)


def estimated(report: Report) -> Figure:
    """Return the predicted time of one run with its interval."""
    total = report.prediction.total
    return Figure(total.time_s, Origin.PREDICTED, report.cost.is_bound, total.low_s, total.high_s)


def energy_of(report: Report) -> Figure | None:
    """Return the predicted energy of the board in one run; None without a fitted power model."""
    e = report.prediction.energy
    if e is None:
        return None
    return Figure(e.energy_j, Origin.PREDICTED, report.cost.is_bound, e.low_j, e.high_j)


def signed(value: float | None, unit: Unit) -> str:
    """Format a difference with its sign: ``+1.31 ms``, ``0``, or a dash if unknown."""
    if value is None:
        return DASH
    # the figures are far larger than this: what remains is the rounding of sums
    if abs(value) < 1e-15:
        return "0"
    if unit is Unit.SHARE and value > MOST_TIMES - 1:
        return change_text(1 + value)
    text = share(abs(value)) if unit is Unit.SHARE else quantity(abs(value), unit)
    if unit is Unit.SECOND and not text[0].isdigit():
        return text
    # beyond its range `share` prints a limit, as "< 0.1 %": a difference has its digits
    if unit is Unit.SHARE and not text[0].isdigit():
        # two digits of a small share; of 100 % and more `.2g` would print an exponent
        text = f"{abs(value) * 100:.{2 if abs(value) < 0.5 else 6}g} %"
    return f"{'+' if value > 0 else '-'}{text}"


def percent(relative: float | None) -> str:
    """Format a relative difference with its sign; a dash if unknown."""
    return DASH if relative is None else signed(relative, Unit.SHARE)
