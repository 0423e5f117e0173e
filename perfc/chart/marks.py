"""What is drawn beneath the ceilings: kernels and their times, a point a memory level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir.record import record
from perfc.machine import Unit

from .roofs import Level, Roof, Roofs, listed

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import Estimate
    from perfc.machine import Machine
    from perfc.passes.roofline import KernelBound, RooflineTable


class Basis(Enum):
    """How the time of a mark is known."""

    PREDICTED = "predicted"
    SUSTAINED = "sustained"
    """What measured ceilings give it: on the roofline by definition."""
    MEASURED = "measured"


@record
class Mark:
    """One kernel, or several equal ones, as the chart shows it.

    Args:
        label: the operators it executes, or its name in a profile.
        basis: how its time is known.
        flop: of all its launches together; a multiply–accumulate is two.
        time_s: of all its launches, launching not counted.
        nbytes: bytes by level, of all its launches; a level without traffic is left out.
        unit: arithmetic unit of most of its work.
        dtype: element type whose ceiling it runs under, as the target file lists it.
        bound: what binds it, where that is known.
        nodes: names of the ONNX nodes, of the first one where there are several equal ones.
        count: kernels this stands for.
        phase: forward, backward or optimiser, where a profile tells.
        is_bound: flop or bytes are lower bounds.
    """

    label: str
    basis: Basis
    flop: float
    time_s: float
    nbytes: Mapping[Level, float]
    unit: Unit
    dtype: str
    bound: str = ""
    nodes: tuple[str, ...] = ()
    count: int = 1
    phase: str = ""
    is_bound: bool = False

    @property
    def flop_per_s(self) -> float | None:
        """Achieved rate, None where it takes no time."""
        return self.flop / self.time_s if self.time_s > 0 else None

    def intensity(self, level: Level) -> float | None:
        """Flop per byte at a level, None where nothing passes it."""
        moved = self.nbytes.get(level, 0.0)
        return self.flop / moved if moved > 0 else None


@record
class Point:
    """A mark at one level, with where it stands beneath the ceilings.

    Args:
        of_roof: rate over what the roofline of measured ceilings allows at this intensity.
        above_peak: the rate exceeds what the hardware can ever give, so a number is wrong.
    """

    mark: Mark
    level: Level
    intensity: float
    flop_per_s: float
    of_roof: float | None = None
    above_peak: bool = False


def points_of(roofs: Roofs, marks: Iterable[Mark]) -> Iterator[Point]:
    """The points of ``marks``; one without flop or without time has none."""
    for mark in marks:
        rate = mark.flop_per_s
        if not rate or not math.isfinite(rate):
            continue
        roof = roofs.roof(mark.unit, mark.dtype)
        for level in Level:
            x = mark.intensity(level)
            if x is None:
                continue
            share, above = standing(roofs, roof, level, x, rate)
            if mark.basis is not Basis.MEASURED:
                # The flop of an epilogue run on another unit, beside those the roof counts.
                share, above = None if share is None else min(share, 1.0), False
            yield Point(mark, level, x, rate, share, above)


TOLERANCE = 1.02
"""A rate may exceed the peak by what clocks and counters are uncertain by."""


def standing(
    roofs: Roofs, roof: Roof | None, level: Level, intensity: float, flop_per_s: float
) -> tuple[float | None, bool]:
    """Share of the measured roofline, and whether the peak one is exceeded."""
    if roof is None:
        return None, False
    reached = roofs.attainable_flop_per_s(roof, level, intensity)
    peak = roofs.attainable_flop_per_s(roof, level, intensity, peak=True)
    return flop_per_s / reached, flop_per_s > TOLERANCE * peak


@record
class Marks:
    """Kernels as marks.

    Args:
        marks: slowest first; equal kernels are one.
        moving: kernels that only move bytes: without flop they have no place on the chart.
        used: the ceilings that some kernel runs under.
    """

    marks: tuple[Mark, ...]
    moving: int = 0
    used: frozenset[tuple[Unit, str]] = field(default_factory=frozenset[tuple[Unit, str]])


def marks_of(table: RooflineTable, predicted: Sequence[Estimate] | None = None) -> Marks:
    """The kernels of an analysis: intensities against the bytes of each level, and times.

    L1 and L2 pass compulsory bytes; device memory what the sustained model charges it.

    Args:
        table: the kernels.
        predicted: what each of them will take; without, sustained times are drawn. What a kernel
            waits for its launch is not counted.
    """
    found: dict[tuple[object, ...], Mark] = {}
    moving = 0
    for i, bound in enumerate(table.kernels):
        mark = _mark(table.machine, bound, None if predicted is None else predicted[i])
        if mark is None:
            moving += 1
            continue
        key = (mark.label, mark.flop, mark.time_s, tuple(mark.nbytes.values()), mark.dtype)
        seen = found.get(key)
        found[key] = mark if seen is None else replace(seen, count=seen.count + 1)
    marks = sorted(found.values(), key=lambda m: -m.time_s * m.count)
    return Marks(tuple(marks), moving, frozenset((m.unit, m.dtype) for m in marks))


def _mark(machine: Machine, bound: KernelBound, predicted: Estimate | None) -> Mark | None:
    counts, launches = bound.counts, bound.launches
    flop, time_s, basis = counts.flop * launches, bound.sustained_s, Basis.SUSTAINED
    if predicted is not None:
        time_s = max(predicted.time_s - predicted.wait_s, bound.floor_s)
        basis = Basis.PREDICTED
    if not flop or not time_s:
        return None
    from perfc.passes.cost import Tier
    from perfc.passes.roofline import Ceiling

    unit = Unit.MATRIX if 2 * counts.mac >= counts.alu + counts.sfu else Unit.VECTOR
    if bound.binding is Ceiling.VECTOR:
        unit = Unit.VECTOR
    peak = machine.entry(unit, bound.dtype.code, allow_tf32=bound.tf32)
    unit, dtype = listed(machine, peak, unit, bound.dtype.code)
    passing = counts.nbytes * launches
    moved = {Level.L1: passing, Level.L2: passing, Level.DEVICE: bound.device_bytes}
    present = {x for x in Level if machine.level(x.value) is not None}
    longest = max(bound.sustained, key=bound.sustained.__getitem__)
    return Mark(
        bound.kernel.label,
        basis,
        flop,
        time_s,
        {x: b for x, b in moved.items() if b > 0 and x in present},
        unit,
        dtype,
        longest.value,
        tuple(n.name for n in bound.kernel.nodes),
        is_bound=bound.kernel.tier in (Tier.BYTES, Tier.UNKNOWN),
    )
