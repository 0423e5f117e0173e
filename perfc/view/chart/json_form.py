"""The chart as JSON: schema ``perfc-roofline/1``."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record
from perfc.ir.record import project
from perfc.machine import Rate
from perfc.view.report.formats.json_form import document_text

from .chart import Chart
from .marks import Mark
from .roofs import RoofLevel

SCHEMA = "perfc-roofline/1"


@record
class RateView:
    """A rate.

    Args:
        value: in SI units.
        origin: vendor, measured, bound or assumed.
        source: name of the document or measurement in the target's file.
    """

    value: float
    origin: str
    source: str

    @classmethod
    def of(cls, rate: Rate | None) -> RateView | None:
        """Create the view of a rate; None without one."""
        return None if rate is None else cls(rate.value, str(rate.origin), rate.source)


@record
class RoofView:
    """A horizontal ceiling: the rate of an arithmetic unit.

    Args:
        unit: matrix or vector.
        dtypes: element types of equal rate.
        peak_flop_per_s: peak rate of the hardware.
        sustained_flop_per_s: measured rate; null if not measured.
    """

    unit: str
    dtypes: tuple[str, ...]
    peak_flop_per_s: RateView | None
    sustained_flop_per_s: RateView | None


@record
class SlopeView:
    """A diagonal ceiling: the bandwidth of a memory level.

    Args:
        level: name of the memory level.
        peak_bytes_per_s: peak bandwidth of the hardware.
        sustained_bytes_per_s: measured bandwidth; null if not measured.
    """

    level: str
    peak_bytes_per_s: RateView | None
    sustained_bytes_per_s: RateView | None


@record
class PointView:
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
class MarkView:
    """One kernel, or several equal ones.

    Args:
        label: operators, or the name in a profile.
        phase: forward, backward or optimizer, if a profile has it.
        basis: basis of its time: predicted, sustained or measured.
        count: number of equal kernels.
        nodes: nodes of the graph.
        flop: operations of all launches.
        is_bound: True if flop or bytes are lower bounds.
        time_s: time of all launches.
        flop_per_s: achieved rate; null if it takes no time.
        unit: unit that does most of the work.
        dtype: element type of its ceiling.
        bound: limiting ceiling, if known.
        levels: figures by memory level.
    """

    label: str
    phase: str
    basis: str
    count: int
    nodes: tuple[str, ...]
    flop: float
    is_bound: bool
    time_s: float
    flop_per_s: float | None
    unit: str
    dtype: str
    bound: str
    levels: Mapping[str, PointView]

    @classmethod
    def of(cls, chart: Chart, mark: Mark) -> MarkView:
        """Create the view of a mark."""
        # a mark without operations or time has traffic and no points
        points = {p.level: p for p in chart.points if p.mark is mark}
        levels = {
            x.value: PointView(
                mark.nbytes[x],
                mark.intensity(x),
                points[x].of_roof if x in points else None,
                points[x].above_peak if x in points else False,
            )
            for x in RoofLevel
            if x in mark.nbytes
        }
        return project(cls, mark, nodes=tuple(mark.nodes), levels=levels)


@record
class RooflineView:
    """A roofline with its kernels.

    Args:
        title: title of the chart.
        target: the machine.
        roofs: horizontal ceilings.
        slopes: diagonal ceilings.
        kernels: kernels.
        notes: notes on the chart.
    """

    title: str
    target: str
    roofs: tuple[RoofView, ...]
    slopes: tuple[SlopeView, ...]
    kernels: tuple[MarkView, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, chart: Chart) -> RooflineView:
        """Create the view of a chart."""
        roofs = (
            RoofView(r.unit.value, tuple(r.dtypes), RateView.of(r.peak), RateView.of(r.sustained))
            for r in chart.roofs.roofs
        )
        slopes = (
            SlopeView(s.level.value, RateView.of(s.peak), RateView.of(s.sustained))
            for s in chart.roofs.slopes
        )
        kernels = tuple(MarkView.of(chart, m) for m in chart.marks)
        target = chart.roofs.target
        return cls(chart.title, target, tuple(roofs), tuple(slopes), kernels, tuple(chart.notes))


def render(chart: Chart) -> str:
    """Return the JSON document as text."""
    return document_text(SCHEMA, RooflineView.of(chart))
