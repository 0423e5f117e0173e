"""Lay out sweeps as documents: points, regimes, capacities and a summary in three lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath

from perfc.common.plain_text import printable
from perfc.view.report.formats.document import (
    Bars,
    Document,
    Note,
    Part,
    Section,
    Table,
)
from perfc.view.report.units import INTERVAL, LOWER_BOUND, Unit, plural, time_range, time_text
from perfc.view.result import Field, Fields, Records, ResultLayout

from .results import Point, Sweep
from .text import capacity_in_words, in_words

LONGEST = 100
"""Maximum number of characters of a name."""
MAX_ROWS = 24
"""Maximum points of one target in a printed table."""


def document(sweep: Sweep) -> Document:
    """Return points, their times as bars, and regimes and memory in words."""
    shown = thinned(sweep)
    how = "at sustained rates" if sweep.points[0].predicted is None else "predicted"
    words = [f"time is {how}; 'limited by' is the largest part of the sustained time"]
    if len(shown) < len(sweep.points):
        words.append(f"{len(shown)} of {len(sweep.points)} points; --output-format csv has all")
    if sweep.assumed:
        words.append(
            f"assumed: {', '.join(f'{sweep.label(n)} = {v}' for n, v in sweep.assumed.items())}"
        )
    points: tuple[Part, ...] = (
        table(sweep, shown),
        *(Note(printable(text)) for text in words),
        *bars(sweep),
    )
    regimes = Section("regimes", "regimes and memory", tuple(notes(sweep)))
    return Document(title(sweep), (Section("points", "points", points), regimes))


def thinned(sweep: Sweep) -> Sequence[Point]:
    """Return points for a page: all if they are few, else those where a regime changes."""
    points = sorted(sweep.points, key=lambda p: (*p.dims.values(),))
    targets = len({p.target for p in points})
    # each target has a row per point
    if len(points) <= MAX_ROWS * targets:
        return points
    changes = [c for c in sweep.crossovers if c.what == "model"]
    name = changes[0].symbol
    ends = {v for c in changes for s in c.spans for v in (s.first, s.last)}
    is_single = all(a.name == name or len(a.values) == 1 for a in sweep.axes)
    # if only one size is swept, powers of two are shown as well
    selected = [
        p for p in points if (v := p.dims[name]) in ends or (is_single and v & (v - 1) == 0)
    ]
    # every n-th point if there are still too many, n rounded up
    return selected[:: max(-(-len(selected) // (MAX_ROWS * targets)), 1)]


def bars(sweep: Sweep) -> Iterator[Bars]:
    """Yield the times of every target."""
    for target in dict.fromkeys(p.target for p in sweep.points):
        times = tuple(p.time_s for p in sweep.points if p.target == target)
        if len(times) > 1:
            ends = f"{time_text(times[0])} to {time_text(times[-1])}"
            yield Bars(times, Unit.SECOND, f"time on {target}, {ends}")


def title(sweep: Sweep) -> str:
    """Return the model, the machines and the swept ranges."""
    targets = list(dict.fromkeys(p.target for p in sweep.points))
    where = ", ".join(targets) if len(targets) < 4 else plural(len(targets), "machine")
    axes = [printable(f"{sweep.label(a.name)[:LONGEST]} {span(a.values)}") for a in sweep.axes]
    name = printable(PurePath(sweep.model).name[:LONGEST]) or "model"
    return " · ".join([f"{name} on {where}", *axes, plural(len(sweep.points), "point")])


def span(values: tuple[int, ...]) -> str:
    """Return the ends of ascending values."""
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def summary(sweep: Sweep) -> str:
    """Return a summary: ranges, shortest and longest time, lower bound and memory."""
    first, last = (min(sweep.points, key=_time), max(sweep.points, key=_time))
    how = "at measured rates" if first.predicted is None else "predicted"
    ends = (first,) if first is last else (first, last)
    times = " to ".join(f"{time_text(_time(p))} ({place(sweep, p)})" for p in ends)
    beyond = [p for p in sweep.points if not p.fits]
    fits = "all points fit in memory"
    if beyond:
        fits = f"{len(beyond)} of {len(sweep.points)} points do not fit in memory"
    return f"{title(sweep)}\n  {how} {times}\n  {LOWER_BOUND} {bounds_of(sweep)}; {fits}"


def bounds_of(sweep: Sweep) -> str:
    """Return the range of lower bounds."""
    floors = [p.floor_s for p in sweep.points]
    ends = dict.fromkeys(map(time_text, (min(floors), max(floors))))
    return " to ".join(ends)


def place(sweep: Sweep, point: Point) -> str:
    """Describe a point by its sizes and machine."""
    return printable(f"{sweep.at(point.dims)} on {point.target}")


def _time(point: Point) -> float:
    """Return the time of a point, as a sort key."""
    return point.time_s


def table(sweep: Sweep, points: Sequence[Point] | None = None) -> Table:
    """Return the table of points, by default of all."""
    return Fields(Point, fields_of(sweep)).table(points or sweep.points, sweep)


def fields_of(sweep: Sweep) -> dict[str, Field]:
    """Return the fields of a point, with a column for each swept symbol in place of a mapping."""
    first = sweep.axes[0].name
    label = {a.name: printable(sweep.label(a.name)[:LONGEST]) for a in sweep.axes}
    known = {f.name: f for f in POINT.all if f.name != "dims"}
    axes = {
        name: Field(partial(size, name=name), title=title, unit=Unit.COUNT)
        for name, title in label.items()
    }
    each = Field(
        lambda p: p.time_s / max(p.dims[first], 1), title=f"time/{label[first]}", is_data=False
    )
    return {"target": known.pop("target"), **axes, **known, "each_s": each}


def size(point: Point, name: str) -> int:
    """Return the value of a swept symbol."""
    return point.dims[name]


def interval(point: Point) -> str | None:
    """Return the prediction interval of a point as text; None without a prediction."""
    run = point.predicted
    return None if run is None else time_range(run.low_s, run.high_s)


def notes(sweep: Sweep) -> Iterator[Note]:
    """Yield notes on the regimes of the model and its longest kernels, and on memory."""
    for c in sweep.crossovers:
        what = f"{c.target}" if c.what == "model" else f"{c.target}, {c.what} ({c.node})"
        yield Note(
            printable(f"{_at(sweep, what, c.fixed)}: {in_words(c.spans, sweep.label(c.symbol))}")
        )
    for limit in sweep.capacities:
        words = capacity_in_words(limit, sweep.label(limit.symbol))
        yield Note(printable(f"{_at(sweep, limit.target, limit.fixed)}: {words}"))


def _at(sweep: Sweep, what: str, fixed: Mapping[str, int]) -> str:
    return f"{what} at {sweep.at(fixed)}" if fixed else what


def rows(sweep: Sweep) -> Records:
    """Return the columns and points of CSV, where those that fit have 1 in version 1."""
    fields = Fields(Point, {**fields_of(sweep), "fits": lambda p: int(p.fits)})
    return fields.records(sweep.points)


def axes(sweep: Sweep) -> Mapping[str, tuple[int, ...]]:
    """Return the values of each swept symbol."""
    return {a.name: tuple(a.values) for a in sweep.axes}


POINT = Fields(
    Point,
    {
        "target": Field(title="target"),
        "dims": "dims",
        "time_s": Field(title="time"),
        "low_s": Field(title=INTERVAL, text=interval, is_spare=True),
        "high_s": "high_s",
        "floor_s": Field(title=LOWER_BOUND),
        "sustained_s": "sustained_s",
        "launch_s": "launch_s",
        "mac": "mac",
        "device_bytes": Field(title="device traffic", is_spare=True),
        "memory_bytes": Field(title="memory"),
        "fits": Field(text=lambda p: "yes" if p.fits else "no", is_spare=True, title="fits"),
        "regime": Field(title="limited by"),
    },
)
LAYOUT = ResultLayout(
    "perfc-sweep/1",
    Fields(
        Sweep,
        {
            "model": "model",
            "axes": axes,
            "assumed": "assumed",
            "points": Field(of=POINT),
            "crossovers": "crossovers",
            "capacities": "capacities",
        },
    ),
    document,
    "perfc.study.sweep.page:sweep_page",
    rows,
    summary=summary,
)
