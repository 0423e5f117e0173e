"""Documents of sweeps: points, regimes, capacities and a summary in three lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from perfc.plain_text import printable
from perfc.report.document import Amount, Column, Document, Note, Section, Table
from perfc.report.units import LOWER_BOUND, Unit, plural, quantity

from .results import Point, Sweep
from .text import capacity_in_words, in_words

LONGEST = 100
"""Maximum number of characters of a name."""


def document(found: Sweep) -> Document:
    """Return the points as a table, with regimes and memory in words."""
    parts: tuple[Table | Note, ...] = (table(found), *notes(found))
    return Document(title(found), (Section("points", "points", parts),))


def title(found: Sweep) -> str:
    """Return the model, the machines and the swept ranges."""
    targets = list(dict.fromkeys(p.target for p in found.points))
    where = ", ".join(targets) if len(targets) < 4 else plural(len(targets), "machine")
    axes = [printable(f"{found.label(a.name)[:LONGEST]} {span(a.values)}") for a in found.axes]
    name = printable(PurePath(found.model).name[:LONGEST]) or "model"
    return " · ".join([f"{name} on {where}", *axes, plural(len(found.points), "point")])


def span(values: tuple[int, ...]) -> str:
    """Return the ends of ascending values."""
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def summary_lines(found: Sweep) -> tuple[str, str, str]:
    """Return a summary: ranges, shortest and longest time, lower bound and memory."""
    first, last = (min(found.points, key=_time), max(found.points, key=_time))
    how = "at measured rates" if first.report is None else "predicted"
    ends = (first,) if first is last else (first, last)
    times = " to ".join(f"{quantity(_time(p), Unit.SECOND)} ({place(found, p)})" for p in ends)
    beyond = [p for p in found.points if not p.fits]
    fits = "all points fit in memory"
    if beyond:
        fits = f"{len(beyond)} of {len(found.points)} points do not fit in memory"
    return title(found), f"  {how} {times}", f"  {LOWER_BOUND} {bounds_of(found)}; {fits}"


def bounds_of(found: Sweep) -> str:
    """Return the range of lower bounds."""
    floors = [p.floor_s for p in found.points]
    ends = dict.fromkeys(quantity(s, Unit.SECOND) for s in (min(floors), max(floors)))
    return " to ".join(ends)


def place(found: Sweep, point: Point) -> str:
    """Describe a point by its sizes and machine."""
    return printable(f"{found.at(point.dims)} on {point.target}")


def _time(point: Point) -> float:
    return point.time_s


def table(found: Sweep) -> Table:
    """Return the table of points."""
    names = [a.name for a in found.axes]
    columns = (
        Column("target", "target"),
        *(Column(name, printable(found.label(name)[:LONGEST]), Unit.COUNT) for name in names),
        Column("time_s", "time"),
        Column("low_s", "low"),
        Column("high_s", "high"),
        Column("floor_s", LOWER_BOUND),
        Column("memory_bytes", "memory"),
        Column("bound", "limited by"),
    )

    def seconds(value: float | None) -> Amount:
        return Amount(value, Unit.SECOND)

    rows = tuple(
        (
            p.target,
            *(p.dims[name] for name in names),
            seconds(p.time_s),
            *map(seconds, interval(p)),
            seconds(p.floor_s),
            Amount(p.memory_bytes, Unit.BYTE),
            p.regime.value,
        )
        for p in found.points
    )
    return Table(columns, rows)


def interval(point: Point) -> tuple[float | None, float | None]:
    """Return the ends of the prediction interval; None without a prediction."""
    run = point.predicted
    return (None, None) if run is None else (run.low_s, run.high_s)


def notes(found: Sweep) -> Iterator[Note]:
    """Yield notes on regimes and memory."""
    for c in found.crossovers:
        if c.what == "model":
            words = in_words(c.spans, found.label(c.symbol))
            yield Note(printable(f"{c.target}: {words}"))
    for capacity in found.capacities:
        words = capacity_in_words(capacity, found.label(capacity.symbol))
        yield Note(printable(f"{capacity.target}: {words}"))
