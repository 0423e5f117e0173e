"""Write sweeps as JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.formats import comma
from perfc.view.report.formats.json_form import document_text

from .results import Crossover, Point, SizeLimit, Sweep

SCHEMA = "perfc-sweep/1"


@record
class PointView:
    """The model at one value of every symbol on one target.

    Args:
        target: the machine.
        dims: values of the symbols.
        time_s: predicted time; time at measured rates without a prediction.
        low_s: lower end of the 90 % prediction interval; null without a prediction.
        high_s: upper end of the interval.
        floor_s: lower bound.
        sustained_s: time of a run at measured rates, including launches.
        launch_s: part of the sustained time that waits for launches.
        mac: multiply-accumulates.
        device_bytes: traffic of device memory at sustained rates.
        memory_bytes: device memory of the process: weights, activations, context.
        fits: True if that fits into the memory of the machine.
        regime: regime that takes most of the sustained time.
    """

    target: str
    dims: Mapping[str, int]
    time_s: float
    low_s: float | None
    high_s: float | None
    floor_s: float
    sustained_s: float
    launch_s: float
    mac: int
    device_bytes: float
    memory_bytes: int
    fits: bool
    regime: str

    @classmethod
    def of(cls, p: Point) -> PointView:
        """Create the view of a point."""
        low_s, high_s = p.interval
        return project(cls, p, dims=dict(p.dims), low_s=low_s, high_s=high_s)


@record
class SweepView:
    """A model over ranges of its symbols.

    Args:
        model: name of the model.
        axes: values of the swept symbols.
        assumed: default sizes of symbols that were not given.
        points: every combination of values on every target.
        crossovers: regimes along each symbol, of the model and of its longest kernels.
        capacities: the largest values that fit.
    """

    model: str
    axes: Mapping[str, tuple[int, ...]]
    assumed: Mapping[str, int]
    points: tuple[PointView, ...]
    crossovers: tuple[Crossover, ...]
    capacities: tuple[SizeLimit, ...]

    @classmethod
    def of(cls, s: Sweep) -> SweepView:
        """Create the view of a sweep."""
        axes = {a.name: tuple(a.values) for a in s.axes}
        points = tuple(map(PointView.of, s.points))
        return project(cls, s, axes=axes, assumed=dict(s.assumed), points=points)


def render_csv(s: Sweep) -> str:
    """Return the points as CSV, one row each."""
    names = [a.name for a in s.axes]
    columns = [f.name for f in fields(PointView) if f.name not in ("target", "dims")]
    rows = (
        [p.target, *(p.dims[n] for n in names), *(_number(getattr(p, c)) for c in columns)]
        for p in map(PointView.of, s.points)
    )
    return comma.records(["target", *names, *columns], rows)


def _number(value: comma.Field) -> comma.Field:
    """Convert booleans to 1 or 0."""
    return int(value) if isinstance(value, bool) else value


def render_json(s: Sweep) -> str:
    """Return the sweep as JSON, including the spans of all regimes."""
    return document_text(SCHEMA, SweepView.of(s))
