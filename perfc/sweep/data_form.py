"""A sweep as data: what JSON and CSV say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from perfc.ir.record import record
from perfc.report import comma
from perfc.report.json_form import enveloped, strict

from .results import Capacity, Crossover, Point, Sweep

SCHEMA = "perfc-sweep/1"


@record
class PointView:
    """The model at one value of every symbol on one target.

    Args:
        target: the machine.
        dims: the values.
        time_s: expected; at measured rates where nothing is predicted.
        low_s: nine in ten runs take more than this; null where nothing is predicted.
        high_s: and less than this.
        floor_s: no run is faster.
        sustained_s: of a run at measured rates, launches included.
        launch_s: part of the sustained time that waits for launches.
        mac: multiply-accumulates.
        device_bytes: that reach device memory at sustained rates.
        memory_bytes: the peak of activations with all weights resident.
        fits: whether that is no more than the machine has.
        regime: what most of the sustained time goes to.
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
        """What is said of a point."""
        low_s, high_s = (
            (None, None) if p.predicted is None else (p.predicted.low_s, p.predicted.high_s)
        )
        return cls(
            p.target, dict(p.dims), p.time_s, low_s, high_s, p.floor_s, p.sustained_s, p.launch_s,
            p.mac, p.device_bytes, p.memory_bytes, p.fits, p.regime.value,
        )  # fmt: skip


@record
class SweepView:
    """A model over ranges of its symbols.

    Args:
        model: as it was named.
        axes: values of the swept symbols.
        assumed: sizes of symbols that nobody gave.
        points: every combination of values on every target.
        crossovers: regimes along each symbol, of the model and of its longest kernels.
        capacities: the largest values that fit.
    """

    model: str
    axes: Mapping[str, tuple[int, ...]]
    assumed: Mapping[str, int]
    points: tuple[PointView, ...]
    crossovers: tuple[Crossover, ...]
    capacities: tuple[Capacity, ...]

    @classmethod
    def of(cls, s: Sweep) -> SweepView:
        """What is said of a sweep."""
        axes = {a.name: tuple(a.values) for a in s.axes}
        points = tuple(map(PointView.of, s.points))
        return cls(s.model, axes, dict(s.assumed), points, s.crossovers, s.capacities)


def render_csv(s: Sweep) -> str:
    """One row a point."""
    names = [a.name for a in s.axes]
    columns = [f.name for f in fields(PointView) if f.name not in ("target", "dims")]
    rows = (
        [p.target, *(p.dims[n] for n in names), *(_number(getattr(p, c)) for c in columns)]
        for p in map(PointView.of, s.points)
    )
    return comma.records(["target", *names, *columns], rows)


def _number(value: comma.Field) -> comma.Field:
    """A truth as 1 or 0."""
    return int(value) if isinstance(value, bool) else value


def render_json(s: Sweep) -> str:
    """Everything, the spans of all regimes included."""
    return strict(enveloped(SCHEMA, SweepView.of(s)), indent=2) + "\n"
