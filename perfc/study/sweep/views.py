"""Documents of sweeps: points, regimes, capacities and a summary in three lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.view.report.formats.document import (
    Column,
    Document,
    Note,
    Section,
    Table,
    in_bytes,
    in_seconds,
)
from perfc.view.report.units import LOWER_BOUND, Unit, plural, time_text

from .text import capacity_in_words, in_words

if TYPE_CHECKING:
    from .results import Point, Sweep

LONGEST = 100
"""Maximum number of characters of a name."""


def document(sweep: Sweep) -> Document:
    """Return the points as a table, with regimes and memory in words."""
    parts: tuple[Table | Note, ...] = (table(sweep), *notes(sweep))
    return Document(title(sweep), (Section("points", "points", parts),))


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


def summary_lines(sweep: Sweep) -> tuple[str, str, str]:
    """Return a summary: ranges, shortest and longest time, lower bound and memory."""
    first, last = (min(sweep.points, key=_time), max(sweep.points, key=_time))
    how = "at measured rates" if first.report is None else "predicted"
    ends = (first,) if first is last else (first, last)
    times = " to ".join(f"{time_text(_time(p))} ({place(sweep, p)})" for p in ends)
    beyond = [p for p in sweep.points if not p.fits]
    fits = "all points fit in memory"
    if beyond:
        fits = f"{len(beyond)} of {len(sweep.points)} points do not fit in memory"
    return title(sweep), f"  {how} {times}", f"  {LOWER_BOUND} {bounds_of(sweep)}; {fits}"


def bounds_of(sweep: Sweep) -> str:
    """Return the range of lower bounds."""
    floors = [p.floor_s for p in sweep.points]
    ends = dict.fromkeys(map(time_text, (min(floors), max(floors))))
    return " to ".join(ends)


def place(sweep: Sweep, point: Point) -> str:
    """Describe a point by its sizes and machine."""
    return printable(f"{sweep.at(point.dims)} on {point.target}")


def _time(point: Point) -> float:
    return point.time_s


def table(sweep: Sweep) -> Table:
    """Return the table of points."""
    names = [a.name for a in sweep.axes]
    columns = (
        Column("target", "target"),
        *(Column(name, printable(sweep.label(name)[:LONGEST]), Unit.COUNT) for name in names),
        Column("time_s", "time"),
        Column("low_s", "low"),
        Column("high_s", "high"),
        Column("floor_s", LOWER_BOUND),
        Column("memory_bytes", "memory"),
        Column("bound", "limited by"),
    )

    rows = tuple(
        (
            p.target,
            *(p.dims[name] for name in names),
            in_seconds(p.time_s),
            *map(in_seconds, interval(p)),
            in_seconds(p.floor_s),
            in_bytes(p.memory_bytes),
            p.regime.value,
        )
        for p in sweep.points
    )
    return Table(columns, rows)


def interval(point: Point) -> tuple[float | None, float | None]:
    """Return the ends of the prediction interval; None without a prediction."""
    run = point.predicted
    return (None, None) if run is None else (run.low_s, run.high_s)


def notes(sweep: Sweep) -> Iterator[Note]:
    """Yield notes on regimes and memory."""
    for c in sweep.crossovers:
        if c.what == "model":
            words = in_words(c.spans, sweep.label(c.symbol))
            yield Note(printable(f"{c.target}: {words}"))
    for capacity in sweep.capacities:
        words = capacity_in_words(capacity, sweep.label(capacity.symbol))
        yield Note(printable(f"{capacity.target}: {words}"))
