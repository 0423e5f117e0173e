"""Ceilings as line segments inside a window, shared by all renderers."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import record
from perfc.machine import Rate
from perfc.view.report.units import Unit, quantity

from .chart import Chart
from .roofs import Roof, RoofLevel, Slope


@record
class LineSegment:
    """One segment.

    Args:
        name: ``L2`` or ``f16 matrix``.
        level: level of a slope; None for a roof.
        is_sustained: True for a measured ceiling, drawn solid, False for a peak.
        start: x and y of its left end.
        end: x and y of its right end.
        rate: rate of the ceiling.
        text: label with name, value and origin.
    """

    name: str
    level: RoofLevel | None
    is_sustained: bool
    start: tuple[float, float]
    end: tuple[float, float]
    rate: Rate
    text: str


def lines_of(chart: Chart) -> Iterator[LineSegment]:
    """Yield slopes, each up to the highest roof, then roofs, each from the steepest slope on."""
    for slope in chart.roofs.slopes:
        yield from _slope(chart, slope)
    for roof in chart.roofs.roofs:
        yield from _roof(chart, roof)


def _slope(chart: Chart, slope: Slope) -> Iterator[LineSegment]:
    tops = [r.peak.value for r in chart.roofs.roofs]
    left, right = chart.window.x
    bottom = chart.window.y[0]
    for is_sustained, rate in ((False, slope.peak), (True, slope.sustained)):
        if rate is None:
            continue
        # the slope starts where it enters the window and ends at the highest roof
        x0 = max(left, bottom / rate.value)
        x1 = min(right, max(tops) / rate.value) if tops else right
        if x0 < x1:  # otherwise the slope is outside of the window
            start, end = (x0, x0 * rate.value), (x1, x1 * rate.value)
            text = f"{slope.level.title} {quantity(rate.value, Unit.BYTE_PER_S)}"
            yield LineSegment(slope.level.title, slope.level, is_sustained, start, end, rate, text)


def _roof(chart: Chart, roof: Roof) -> Iterator[LineSegment]:
    left, right = chart.window.x
    steepest = max((s.peak.value for s in chart.roofs.slopes), default=0.0)
    unit = Unit.FLOP_PER_S if roof.is_float else Unit.OP_PER_S
    for is_sustained, rate in ((False, roof.peak), (True, roof.sustained)):
        if rate is None:
            continue
        # left of the steepest slope no kernel reaches this roof
        x0 = max(left, rate.value / steepest) if steepest else left
        text = f"{roof.title} {quantity(rate.value, unit)}"
        yield LineSegment(
            roof.title, None, is_sustained, (x0, rate.value), (right, rate.value), rate, text
        )
