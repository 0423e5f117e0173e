"""Format-independent roofline chart: ceilings, points and window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from perfc.ir import record
from perfc.machine import Unit

from .marks import Mark, MarkPoint, TimeBasis, points_of
from .roofs import RoofLevel, Roofs

DECADES = 4.0
"""Width of an empty window around the ridges, in powers of ten."""


@record
class AxisLimits:
    """Limits of both axes."""

    x: tuple[float, float]
    y: tuple[float, float]


@record
class Chart:
    """A hierarchical roofline.

    Args:
        title: title of the chart.
        roofs: ceilings.
        marks: kernels, analyzed ones before measured ones, slowest first.
        points: points of the marks, one per level.
        window: limits of the axes.
        notes: notes on omitted kernels and assumed values.
    """

    title: str
    roofs: Roofs
    marks: tuple[Mark, ...]
    points: tuple[MarkPoint, ...]
    window: AxisLimits
    notes: tuple[str, ...] = ()

    @property
    def above(self) -> tuple[MarkPoint, ...]:
        """Return the points that no machine of this kind can reach."""
        return tuple(p for p in self.points if p.above_peak)


def chart(title: str, roofs: Roofs, marks: Iterable[Mark] = (), notes: Sequence[str] = ()) -> Chart:
    """Return the chart of ``marks``, with only the ceilings that marks use."""
    shown = tuple(sorted(marks, key=lambda m: (m.basis is TimeBasis.MEASURED, -m.time_s * m.count)))
    points = tuple(points_of(roofs, shown))
    if shown:
        used = {(m.unit, m.dtype) for m in shown}
        # the ceilings of the marks, and f32 on vector units in any case
        drawn = roofs.only(used | {(Unit.VECTOR, "f32")})
    else:
        drawn = roofs
    return Chart(title, drawn, shown, points, window(drawn, points), tuple(notes))


def window(roofs: Roofs, points: Sequence[MarkPoint]) -> AxisLimits:
    """Return the limits that hold the points, every ridge and half a decade around them."""
    tops = [r.peak.value for r in roofs.roofs]
    ridges = [t / s.peak.value for t in tops for s in roofs.slopes]
    xs = [*ridges, *(p.intensity for p in points)]
    if not xs:
        xs = [10 ** (-DECADES / 2), 10 ** (DECADES / 2)]
    x = (rounded(min(xs) / 3, up=False), rounded(max(xs) * 3, up=True))
    slope_starts = [s.reached.value * x[0] for s in roofs.slopes if s.level is not RoofLevel.L1]
    ys = [*tops, *(p.flop_per_s for p in points), *slope_starts]
    if not ys:
        ys = [1e9, 1e12]
    return AxisLimits(x, (rounded(min(ys) / 1.5, up=False), rounded(max(ys) * 1.5, up=True)))


def rounded(value: float, *, up: bool) -> float:
    """Return the next value of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    # a power just above the value that it was rounded from leaves half of it below
    steps = [power * s for s in (0.5, 1, 2, 5, 10)]
    return next(s for s in steps if s >= value) if up else max(s for s in steps if s <= value)
