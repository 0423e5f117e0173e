"""Place kernels below the ceilings of a roofline chart: one point per memory level.

A mark is a kernel, or several equal ones, with its work, time and bytes; its points have the
arithmetic intensity at each level and the achieved rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.machine import Machine, Unit

from .roofs import Roof, RoofLevel, Roofs, listed

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import Estimate
    from perfc.passes.roofline.roofline import KernelBound, RooflineTable


class TimeBasis(Enum):
    """Basis of a mark's time."""

    PREDICTED = "predicted"
    SUSTAINED = "sustained"
    """Time from measured ceilings, on the roofline by definition."""
    MEASURED = "measured"


@record
class Mark:
    """One kernel, or several equal ones, in the chart.

    Args:
        label: operators, or the name in a profile.
        basis: basis of its time.
        flop: operations of all launches; a multiply–accumulate is two.
        time_s: time of all launches.
        nbytes: bytes by level of all launches, without levels that have no traffic.
        unit: arithmetic unit of most of its work.
        dtype: element type of its ceiling, as in the target file.
        bound: limiting ceiling, if known.
        nodes: names of the ONNX nodes of the first kernel.
        count: number of equal kernels.
        phase: forward, backward or optimizer, if a profile has it.
        is_bound: True if flop or bytes are lower bounds.
    """

    label: str
    basis: TimeBasis
    flop: float
    time_s: float
    nbytes: Mapping[RoofLevel, float]
    unit: Unit
    dtype: str
    bound: str = ""
    nodes: tuple[str, ...] = ()
    count: int = 1
    phase: str = ""
    is_bound: bool = False

    @property
    def flop_per_s(self) -> float | None:
        """Return the achieved rate; None if it takes no time."""
        return self.flop / self.time_s if self.time_s > 0 else None

    def intensity(self, level: RoofLevel) -> float | None:
        """Return flop per byte at a level; None without traffic."""
        moved = self.nbytes.get(level, 0.0)
        return self.flop / moved if moved > 0 else None


@record
class MarkPoint:
    """A mark at one level, with its position below the ceilings.

    Args:
        of_roof: rate over the measured roofline at this intensity.
        above_peak: True if the rate exceeds the peak of the hardware, so that a number is wrong.
    """

    mark: Mark
    level: RoofLevel
    intensity: float
    flop_per_s: float
    of_roof: float | None = None
    above_peak: bool = False


def points_of(roofs: Roofs, marks: Iterable[Mark]) -> Iterator[MarkPoint]:
    """Yield the points of ``marks``; marks without flop or time have none."""
    for mark in marks:
        rate = mark.flop_per_s
        if not rate or not math.isfinite(rate):
            continue
        roof = roofs.roof(mark.unit, mark.dtype)
        for level in RoofLevel:
            x = mark.intensity(level)
            if x is None:
                continue
            share, above = standing(roofs, roof, level, x, rate)
            if mark.basis is not TimeBasis.MEASURED:
                # a computed time is no evidence against a ceiling: its share exceeds 1 where
                # another unit runs the flop of an epilogue at the same time
                share, above = None if share is None else min(share, 1.0), False
            yield MarkPoint(mark, level, x, rate, share, above)


TOLERANCE = 1.02
"""Factor of the peak up to which a rate passes, for uncertain clocks and counters."""


def standing(
    roofs: Roofs, roof: Roof | None, level: RoofLevel, intensity: float, flop_per_s: float
) -> tuple[float | None, bool]:
    """Return the achieved share of the measured roofline, and whether the rate exceeds the peak."""
    if roof is None:
        return None, False
    reached = roofs.attainable_flop_per_s(roof, level, intensity)
    peak = roofs.attainable_flop_per_s(roof, level, intensity, peak=True)
    return flop_per_s / reached, flop_per_s > TOLERANCE * peak


@record
class Marks:
    """Marks of the kernels of an analysis.

    Args:
        marks: one for each group of equal kernels, in order of falling total time.
        moving: number of kernels without operations or time, which have no place on a roofline.
        used: pairs of unit and element type that the kernels use.
    """

    marks: tuple[Mark, ...]
    moving: int = 0
    used: frozenset[tuple[Unit, str]] = field(default_factory=frozenset)


def marks_of(table: RooflineTable, predicted: Sequence[Estimate] | None = None) -> Marks:
    """Return the marks of an analysis: one per group of equal kernels, with intensities and time.

    The intensity at L1 and L2 is over compulsory bytes. At device memory it is over the traffic
    that the sustained model expects, which is less for tensors that stay in L2.

    Args:
        table: roofline of every kernel.
        predicted: estimate of each kernel; sustained times by default. Predicted and sustained
            times include waiting for the launch, as on every other page.
    """
    groups: dict[tuple[object, ...], Mark] = {}
    moving = 0
    for i, bound in enumerate(table.kernels):
        mark = _mark(table.machine, bound, None if predicted is None else predicted[i])
        if mark is None:
            moving += 1
            continue
        key = (mark.label, mark.flop, mark.time_s, tuple(mark.nbytes.values()), mark.dtype)
        seen = groups.get(key)
        groups[key] = mark if seen is None else replace(seen, count=seen.count + 1)
    marks = sorted(groups.values(), key=lambda m: -m.time_s * m.count)
    return Marks(tuple(marks), moving, frozenset((m.unit, m.dtype) for m in marks))


def _mark(machine: Machine, bound: KernelBound, predicted: Estimate | None) -> Mark | None:
    """Return the mark of one kernel; None if it has no operations or takes no time."""
    counts, launches = bound.counts, bound.launches
    flop, time_s, basis = counts.flop * launches, bound.time_s, TimeBasis.SUSTAINED
    if predicted is not None:
        time_s, basis = predicted.time_s, TimeBasis.PREDICTED
    if not flop or not time_s:
        return None
    from perfc.passes.roofline.cost import Tier
    from perfc.passes.roofline.roofline import Ceiling

    # a multiply-accumulate is two operations
    unit = Unit.MATRIX if 2 * counts.mac >= counts.alu + counts.sfu else Unit.VECTOR
    # few operations of the slower unit may take longer than many of the faster one
    if bound.binding is Ceiling.VECTOR:
        unit = Unit.VECTOR
    peak = machine.entry(unit, bound.dtype.code, allow_tf32=bound.tf32)
    unit, dtype = listed(machine, peak, unit, bound.dtype.code)
    passing = counts.nbytes * launches
    moved = {RoofLevel.L1: passing, RoofLevel.L2: passing, RoofLevel.DEVICE: bound.device_bytes}
    # a target may lack the bandwidth of a level
    present = {x for x in RoofLevel if machine.level(x.value) is not None}
    # not `busiest`, which names partial waves only if most of the time is idle
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
