"""Fields of the chart: schema ``perfc-roofline/1``."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record
from perfc.machine import Rate
from perfc.view.result import Field, Fields, ResultLayout

from .chart import Chart
from .marks import Mark
from .roofs import Roof, RoofLevel, Slope
from .table import document


@record
class LevelTraffic:
    """A kernel at one memory level.

    Args:
        bytes: traffic of the level.
        flop_per_byte: arithmetic intensity at the level.
        of_roofline: achieved over attainable rate; null if it takes no time.
        is_above_peak: True if it is faster than the hardware peak.
    """

    bytes: float
    flop_per_byte: float | None
    of_roofline: float | None
    is_above_peak: bool


@record
class ChartedMark:
    """One kernel, or several equal ones, with figures by memory level."""

    mark: Mark
    levels: Mapping[str, LevelTraffic]


def kernels(chart: Chart) -> tuple[ChartedMark, ...]:
    """Return the kernels."""
    return tuple(ChartedMark(mark, levels(chart, mark)) for mark in chart.marks)


def levels(chart: Chart, mark: Mark) -> Mapping[str, LevelTraffic]:
    """Return figures by memory level."""
    # a mark without operations or time has traffic and no points
    points = {p.level: p for p in chart.points if p.mark is mark}
    return {
        x.value: LevelTraffic(
            mark.nbytes[x],
            mark.intensity(x),
            points[x].of_roof if x in points else None,
            points[x].above_peak if x in points else False,
        )
        for x in RoofLevel
        if x in mark.nbytes
    }


def origin(rate: Rate) -> str:
    """Return the origin: vendor, measured, bound or assumed."""
    return str(rate.origin)


RATE = Fields(Rate, {"value": "value", "origin": origin, "source": "source"})
ROOF = Fields(
    Roof,
    {
        "unit": "unit",
        "dtypes": "dtypes",
        "peak_flop_per_s": Field("peak", of=RATE),
        "sustained_flop_per_s": Field("sustained", of=RATE),
    },
)
SLOPE = Fields(
    Slope,
    {
        "level": "level",
        "peak_bytes_per_s": Field("peak", of=RATE),
        "sustained_bytes_per_s": Field("sustained", of=RATE),
    },
)
MARK = Fields(
    ChartedMark,
    {
        "label": "mark.label",
        "phase": "mark.phase",
        "basis": "mark.basis",
        "count": "mark.count",
        "nodes": "mark.nodes",
        "flop": "mark.flop",
        "is_bound": "mark.is_bound",
        "time_s": "mark.time_s",
        "flop_per_s": "mark.flop_per_s",
        "unit": "mark.unit",
        "dtype": "mark.dtype",
        "bound": "mark.bound",
        "levels": "levels",
    },
)
LAYOUT = ResultLayout(
    "perfc-roofline/1",
    Fields(
        Chart,
        {
            "title": "title",
            "target": "roofs.target",
            "roofs": Field("roofs.roofs", of=ROOF),
            "slopes": Field("roofs.slopes", of=SLOPE),
            "kernels": Field(kernels, of=MARK),
            "notes": "notes",
        },
    ),
    document,
    "perfc.view.html.roofline_page:roofline_page",
    "kernels",
)
