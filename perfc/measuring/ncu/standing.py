"""Compare measured kernels with the ceilings of a target: rates over the measured rates of each.

A rate above a peak is an error of the report, of the target or of perfc, and becomes a diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from perfc.ir import record
from perfc.machine import Machine
from perfc.view.chart.marks import TOLERANCE
from perfc.view.chart.roofs import RoofLevel, listed
from perfc.view.report.units import Unit as Quantity
from perfc.view.report.units import quantity, share

from .report import Diagnostic, KernelCounters, MessageSeverity, NcuReport


@record
class CounterCeiling:
    """Rate of a kernel at one ceiling, in FLOPs or bytes per second.

    Args:
        name: unit with type, or memory level: ``f16 matrix``, ``L2``.
        achieved: rate of the kernel.
        reached: measured ceiling, or the rated one if there is no measurement.
        peak: highest rate of the hardware.
    """

    name: str
    achieved: float
    reached: float
    peak: float

    @property
    def share(self) -> float:
        """Return the achieved over the measured ceiling."""
        return self.achieved / self.reached

    @property
    def is_above(self) -> bool:
        """Return True if the rate is above the peak by more than errors of clocks explain."""
        return self.achieved > TOLERANCE * self.peak


@record
class KernelStanding:
    """A kernel with its rate at every ceiling that it uses, by unit and by memory level."""

    kernel: KernelCounters
    units: tuple[CounterCeiling, ...] = ()
    levels: Mapping[RoofLevel, CounterCeiling] = field(default_factory=dict)

    @property
    def ceilings(self) -> tuple[CounterCeiling, ...]:
        """Return the units and levels."""
        return (*self.units, *self.levels.values())

    @property
    def nearest(self) -> CounterCeiling | None:
        """Return the ceiling with the highest utilization."""
        return max(self.ceilings, key=lambda c: c.share, default=None)


def standing(kernel: KernelCounters, machine: Machine | None) -> KernelStanding:
    """Return the utilization of the ceilings of ``machine``."""
    if machine is None:
        return KernelStanding(kernel)
    units: list[CounterCeiling] = []
    for (unit, dtype), flop in kernel.flop.items():
        exact = machine.compute.get((unit, dtype))
        # a type that the target does not list runs at the rate of its substitute
        peak = exact or machine.entry(unit, dtype)
        reached = (peak.sustained or peak.nominal).value
        served_by, served_type = listed(machine, peak, unit, dtype)
        name = f"{served_type} {served_by.value}"
        units.append(CounterCeiling(name, flop / kernel.time_s, reached, peak.peak.value))
    levels: dict[RoofLevel, CounterCeiling] = {}
    for level, moved in kernel.nbytes.items():
        memory = machine.level(level.value)
        if memory is not None:
            reached = (memory.sustained or memory.nominal).value
            rate = moved / kernel.time_s
            levels[level] = CounterCeiling(level.title, rate, reached, memory.bandwidth.value)
    return KernelStanding(kernel, tuple(units), levels)


def problems(
    report: NcuReport, standings: Iterable[KernelStanding], machine: Machine | None
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a report, including contradictions to the target."""
    diagnostics = list(report.diagnostics)
    if machine is not None and report.arch and machine.arch and report.arch != machine.arch:
        text = f"the report is of {report.arch}, the target {machine.name} of {machine.arch}"
        diagnostics.append(
            Diagnostic(MessageSeverity.WARNING, f"{text}: shares compare different chips")
        )
    for each in standings:
        for ceiling in each.ceilings:
            if ceiling.is_above:
                # memory levels are in bytes, units in operations
                unit = Quantity.BYTE_PER_S if ceiling.name in _LEVELS else Quantity.FLOP_PER_S
                text = (
                    f"above the roof: {each.kernel.kernel} has {quantity(ceiling.achieved, unit)} "
                    f"at {ceiling.name}, {share(ceiling.achieved / ceiling.peak)} of what "
                    f"{_name(machine)} can give"
                )
                diagnostics.append(Diagnostic(MessageSeverity.ERROR, text))
    return tuple(diagnostics)


_LEVELS = frozenset(level.title for level in RoofLevel)
"""Names of ceilings that are memory levels."""


def _name(machine: Machine | None) -> str:
    """Return the name of the target in a sentence."""
    return machine.name if machine is not None else "it"
