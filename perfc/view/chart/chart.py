"""Format-independent roofline chart: ceilings, points and window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

from perfc.ir import record
from perfc.machine import Unit
from perfc.view.result import Result

from .marks import Mark, MarkPoint, TimeBasis, points_of
from .roofs import RoofLevel, Roofs

DECADES = 4.0
"""Width of the window of a chart without ridges and points, in powers of ten around 1 flop/byte."""


@record
class AxisLimits:
    """Limits of both axes."""

    x: tuple[float, float]
    y: tuple[float, float]


@record
class Chart(Result):
    """A hierarchical roofline.

    Args:
        title: title of the chart.
        roofs: ceilings.
        marks: kernels, analyzed ones before measured ones, slowest first.
        points: points of the marks, one per level.
        window: limits of the axes.
        notes: notes on omitted kernels and assumed values.
    """

    layout: ClassVar[str] = "perfc.view.chart.json_form:LAYOUT"
    title: str
    roofs: Roofs
    marks: tuple[Mark, ...]
    points: tuple[MarkPoint, ...]
    window: AxisLimits
    notes: tuple[str, ...] = ()

    @property
    def above(self) -> tuple[MarkPoint, ...]:
        """Return the points above the peak of the hardware, of which a number is wrong."""
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
    """Return limits around the points, the ceilings and their ridges.

    The margin is about half a decade of intensity and a sixth of a decade of rate.
    """
    tops = [r.peak.value for r in roofs.roofs]
    ridges = [t / s.peak.value for t in tops for s in roofs.slopes]
    xs = [*ridges, *(p.intensity for p in points)]
    if not xs:
        xs = [10 ** (-DECADES / 2), 10 ** (DECADES / 2)]
    x = (rounded(min(xs) / 3, up=False), rounded(max(xs) * 3, up=True))
    # the slope of L1 is the steepest: at the left edge the others lie below it
    slope_starts = [s.reached.value * x[0] for s in roofs.slopes if s.level is not RoofLevel.L1]
    ys = [*tops, *(p.flop_per_s for p in points), *slope_starts]
    if not ys:  # a target without any rate: an arbitrary window, 1 Gflop/s to 1 Tflop/s
        ys = [1e9, 1e12]
    return AxisLimits(x, (rounded(min(ys) / 1.5, up=False), rounded(max(ys) * 1.5, up=True)))


def rounded(value: float, *, up: bool) -> float:
    """Return the next of 1, 2, 5 times a power of ten: the upper one if ``up``, else the lower."""
    power = 10.0 ** math.floor(math.log10(value))
    # the logarithm of a value just below a power of ten may round to that power: half of the power
    # is then the step below the value
    steps = [power * s for s in (0.5, 1, 2, 5, 10)]
    return next(s for s in steps if s >= value) if up else max(s for s in steps if s <= value)
