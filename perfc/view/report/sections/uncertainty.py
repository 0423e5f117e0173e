"""Measured rates that were not reproducible, and the share of the run they limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfc.ir import Origin, record
from perfc.machine import Machine, MemoryLevel, Peak, Rate
from perfc.machine import Unit as Engine
from perfc.passes.roofline.ceilings import Ceiling, KernelBound

from ..amounts import title
from ..formats.document import Note
from ..names import machine_title
from ..units import Unit, quantity, share

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report

# the unit or level whose rate makes a ceiling; launches have none
ENGINES: Mapping[Ceiling, Engine] = MappingProxyType(
    {
        Ceiling.MATRIX: Engine.MATRIX,
        Ceiling.WAVES: Engine.MATRIX,
        Ceiling.VECTOR: Engine.VECTOR,
        Ceiling.SPECIAL: Engine.SPECIAL,
        Ceiling.INTEGER: Engine.INTEGER,
    }
)
LEVELS: Mapping[Ceiling, str] = MappingProxyType(
    {Ceiling.L1: "l1", Ceiling.L2: "l2", Ceiling.DEVICE: "device"}
)
LEAST_IN_DOUBT = 0.5
"""Share of the time based on doubtful rates above which the prediction is doubtful."""
LEAST_SHARE = 0.05
"""Minimum share of the run that a rate must limit to be mentioned."""


@record
class UncertainRate:
    """A measured rate that was not reproducible.

    Args:
        ceiling: the unit, memory level, or ``launch``.
        key: entry of the target file.
        median: median of the rounds, in the unit of the key; times are computed from it.
        worst: slowest round.
        best: fastest round.
        rounds: undisturbed rounds; 0 if other programs ran in all of them.
        time_share: share of the run's time that the rate limits.
    """

    ceiling: str
    key: str
    median: float
    worst: float
    best: float
    rounds: int
    time_share: float


def binding_entry(bound: KernelBound, machine: Machine) -> Peak | MemoryLevel | None:
    """Return the target entry of the ceiling that limits a kernel; None for launches."""
    ceiling = bound.binding
    engine = ENGINES.get(ceiling)
    if engine is None:
        # launches have neither a unit nor a level
        return machine.level(LEVELS[ceiling]) if ceiling in LEVELS else None
    match engine:
        case Engine.INTEGER:
            dtype = "i32"
        case Engine.MATRIX:
            dtype = bound.dtype.code
        case _:
            dtype = bound.vector_dtype.code
    return machine.entry(engine, dtype, allow_tf32=bound.tf32)


def collect(report: Report) -> tuple[UncertainRate, ...]:
    """Collect uncertain rates that limit a kernel, largest share of the time first."""
    roof, machine = report.roofline, report.machine
    time_s: dict[str, float] = {}
    rates: dict[str, tuple[str, Rate]] = {}
    for bound in roof.kernels:
        if bound.binding is Ceiling.LAUNCH:
            rate, spent_s = machine.launch_overhead_s, bound.launch_gap_s
        else:
            entry = binding_entry(bound, machine)
            rate, spent_s = entry.sustained if entry else None, bound.sustained_s
        if rate is None or not rate.is_uncertain:
            continue
        rates[rate.key] = bound.binding.value, rate
        time_s[rate.key] = time_s.get(rate.key, 0.0) + spent_s
    uncertain = (
        _uncertain(ceiling, rate, time_s[key] / roof.time_s if roof.time_s else 0.0)
        for key, (ceiling, rate) in rates.items()
    )
    return tuple(sorted(uncertain, key=lambda r: -r.time_share))


def _uncertain(ceiling: str, rate: Rate, time_share: float) -> UncertainRate:
    spread = rate.spread
    assert spread is not None  # only a rate with a spread is uncertain
    return UncertainRate(
        ceiling, rate.key, rate.value, spread.worst, spread.best, spread.rounds, time_share
    )


def in_doubt(report: Report, table: PredictionTable, *, is_measured: bool = False) -> str:
    """Describe the doubtful rate that limits most of the run.

    The text is empty if doubtful rates limit less than `LEAST_IN_DOUBT` of the time. Kernels of
    kinds that were measured on the machine do not depend on its assumed rates. With
    ``is_measured``, only rates that were measured but not reproducible are in doubt.
    """
    machine, spent_s = report.machine, dict[str, float]()
    for bound, kernel in zip(report.roofline.kernels, table.kernels, strict=True):
        entry = binding_entry(bound, machine)
        rate = (entry.sustained or entry.nominal) if entry is not None else None
        if rate is None:
            continue
        # `is_own`: kernels of its class were measured on this machine itself, or its rates were
        is_assumed = rate.origin is Origin.ASSUMED and not (kernel.is_own or is_measured)
        if is_assumed or rate.is_uncertain:
            why = "assumed" if is_assumed else "measured but not reproducible"
            words = f"the rate of {title(bound.binding.value)} is {why} on {machine_title(machine)}"
            spent_s[words] = spent_s.get(words, 0.0) + kernel.time_s
    if math.fsum(spent_s.values()) < LEAST_IN_DOUBT * table.kernels_s:
        return ""
    return max(spent_s, key=lambda words: spent_s[words], default="")


def note(rates: tuple[UncertainRate, ...]) -> Note | None:
    """Return a warning about uncertain rates that limit a large part of the run, or None."""
    listed = [_words(r) for r in rates if r.time_share >= LEAST_SHARE]
    return Note(f"uncertain rates: {'; '.join(listed)}", is_warning=True) if listed else None


def _words(rate: UncertainRate) -> str:
    unit = unit_of(rate.key)
    worst, best = quantity(rate.worst, unit), quantity(rate.best, unit)
    match rate.rounds:
        case 0:
            least = f"{worst} to " if rate.worst != rate.best else ""
            measured = f"measured while other programs ran, {least}{best}"
        case 1:
            measured = f"measured once, {best}"
        case _:
            measured = f"{worst} to {best} in {rate.rounds} rounds"
    return f"{rate.ceiling} ({share(rate.time_share)} of the time): {measured}"


def unit_of(key: str) -> Unit:
    """Return the unit of a target file entry from the end of its name."""
    ends = (("bytes_per_s", Unit.BYTE_PER_S), ("flop_per_s", Unit.FLOP_PER_S))
    for end, unit in ends:
        if key.endswith(end):
            return unit
    return Unit.OP_PER_S if key.endswith("op_per_s") else Unit.SECOND
