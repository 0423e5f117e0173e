"""The chart as JSON: schema ``perfc-roofline/1``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from perfc.ir.record import record
from perfc.machine import Rate
from perfc.report.json_form import enveloped

from .chart import Chart
from .marks import Mark
from .roofs import Level

SCHEMA = "perfc-roofline/1"


@record
class RateView:
    """A rate.

    Args:
        value: in SI units.
        origin: who says so: vendor, measured, bound or assumed.
        source: name of the document or measurement in the target's file.
    """

    value: float
    origin: str
    source: str

    @classmethod
    def of(cls, rate: Rate | None) -> RateView | None:
        """Of a rate, None where there is none."""
        return None if rate is None else cls(rate.value, str(rate.origin), rate.source)


@record
class RoofView:
    """A flat ceiling.

    Args:
        unit: that computes.
        dtypes: element types that share it.
        peak_flop_per_s: the best that the hardware can ever give.
        sustained_flop_per_s: what was measured; null where nobody did.
    """

    unit: str
    dtypes: tuple[str, ...]
    peak_flop_per_s: RateView | None
    sustained_flop_per_s: RateView | None


@record
class SlopeView:
    """A slanting ceiling.

    Args:
        level: of the memory.
        peak_bytes_per_s: the best that the hardware can ever give.
        sustained_bytes_per_s: what was measured; null where nobody did.
    """

    level: str
    peak_bytes_per_s: RateView | None
    sustained_bytes_per_s: RateView | None


@record
class PointView:
    """A kernel at one level of the memory.

    Args:
        bytes: that pass the level.
        flop_per_byte: its intensity there.
        of_roofline: achieved over attainable rate; null where it takes no time.
        is_above_peak: whether it is faster than the hardware can be.
    """

    bytes: float
    flop_per_byte: float | None
    of_roofline: float | None
    is_above_peak: bool


@record
class MarkView:
    """One kernel, or several equal ones.

    Args:
        label: its operators, or its name in a profile.
        phase: forward, backward or optimiser, where a profile tells.
        basis: how its time is known.
        count: kernels that it stands for.
        nodes: of the graph.
        flop: of all launches together.
        is_bound: whether flop or bytes are lower bounds.
        time_s: of all launches.
        flop_per_s: achieved rate; null where it takes no time.
        unit: that does most of the work.
        dtype: whose ceiling it runs under.
        bound: what limits it, where that is known.
        levels: by level of the memory.
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
        """Of one mark of a chart."""
        points = {p.level: p for p in chart.points if p.mark is mark}
        levels = {
            x.value: PointView(
                mark.nbytes[x], mark.intensity(x),
                points[x].of_roof if x in points else None,
                points[x].above_peak if x in points else False,
            )
            for x in Level
            if x in mark.nbytes
        }  # fmt: skip
        return cls(
            mark.label, mark.phase, mark.basis.value, mark.count, tuple(mark.nodes), mark.flop,
            mark.is_bound, mark.time_s, mark.flop_per_s, mark.unit.value, mark.dtype, mark.bound,
            levels,
        )  # fmt: skip


@record
class RooflineView:
    """A roofline with what is drawn under it.

    Args:
        title: of the chart.
        target: the machine.
        roofs: flat ceilings.
        slopes: slanting ones.
        kernels: marks.
        notes: what a reader must know.
    """

    title: str
    target: str
    roofs: tuple[RoofView, ...]
    slopes: tuple[SlopeView, ...]
    kernels: tuple[MarkView, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, chart: Chart) -> RooflineView:
        """Of a chart."""
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
    """The text of the JSON document."""
    tree = enveloped(SCHEMA, RooflineView.of(chart))
    return json.dumps(tree, indent=2, allow_nan=False) + "\n"
