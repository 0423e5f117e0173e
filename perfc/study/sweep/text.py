"""A sweep as text; as data it is in ``data_form``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfc.view.report.formats.text import LEVELS
from perfc.view.report.units import (
    INTERVAL,
    LOWER_BOUND,
    plural,
    size_text,
    time_range,
    time_text,
)

if TYPE_CHECKING:
    from .results import Crossover, Point, RegimeSpan, SizeLimit, Sweep


MAX_ROWS = 24
MAX_SPANS = 4
CHART = 60
"""Maximum number of points in a line of the chart."""


def render_text(s: Sweep) -> str:
    """Return the points of every target as a table, with regimes and memory in words."""
    return "\n".join(_lines(s)) + "\n"


def _lines(s: Sweep) -> Iterator[str]:
    count = plural(len(s.points), "point")
    yield f"{s.model or 'model'}: {count} from the formulas of one analysis"
    if s.points and s.points[0].report is None:
        yield "time is at sustained rates; 'limited by' is the largest part of it"
    else:
        yield "time is predicted; 'limited by' is the largest part of the sustained time"
    if s.assumed:
        yield "assumed: " + ", ".join(f"{s.label(n)} = {v}" for n, v in s.assumed.items())
    targets = list(dict.fromkeys(p.target for p in s.points))
    by_target = {t: [p for p in s.points if p.target == t] for t in targets}
    shown = [p for points in by_target.values() for p in _thinned(points, s)]
    order = {tuple(p.dims.items()): i for i, p in enumerate(by_target[targets[0]])}
    yield ""
    yield from _table(s, sorted(shown, key=lambda p: order[tuple(p.dims.items())]))
    if len(shown) < len(s.points):
        yield f"{len(shown)} of {len(s.points)} points; --output-format csv has all"
    yield from _chart(s, by_target)
    for target in targets:
        yield ""
        yield target
        for c in s.crossovers:
            if c.target == target and c.what == "model":
                yield f"model{_given(s, c.fixed)}: {in_words(c.spans, s.label(c.symbol))}"
                yield from _capacity(s, c)
                yield from _kernels(s, c)


def _chart(s: Sweep, by_target: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    """Yield a chart of the times of every target, on one scale."""
    if len(next(iter(by_target.values()))) < 2:
        return
    shortest_s = min(min(p.floor_s, p.time_s) for p in s.points)
    longest_s = max(p.time_s for p in s.points)
    least, most = (math.log(max(t, 1e-12)) for t in (shortest_s, longest_s))
    width = max(map(len, by_target))
    name = next((a.name for a in s.axes if len(a.values) > 1), s.axes[0].name)
    yield ""
    first, last = next(iter(by_target.values()))[0], next(iter(by_target.values()))[-1]
    ends = f"{s.label(name)} {first.dims[name]} to {last.dims[name]}"
    yield f"time, {ends}, from {time_text(math.exp(least))} (log scale)"
    for target, points in by_target.items():
        drawn = points[:: max(1, -(-len(points) // CHART))]
        marks = "".join(_level(p.time_s, least, most) for p in drawn)
        low, high = (time_text(points[i].time_s) for i in (0, -1))
        yield f"  {target:{width}}  {marks}  {low} to {high}"


def _level(time_s: float, least: float, most: float) -> str:
    """Return a time as one character, by its position on a log scale."""
    share = (math.log(max(time_s, 1e-12)) - least) / (most - least) if most > least else 1.0
    return LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)]


def _thinned(points: Sequence[Point], s: Sweep) -> list[Point]:
    if len(points) <= MAX_ROWS:
        return list(points)
    name = s.crossovers[0].symbol
    changes = {
        v for c in s.crossovers if c.what == "model" for sp in c.spans for v in (sp.first, sp.last)
    }
    several = [a for a in s.axes if a.name != name and len(a.values) > 1]
    selected = [
        p
        for p in points
        if p.dims[name] in changes or (not several and p.dims[name] & (p.dims[name] - 1) == 0)
    ]
    step = -(-len(selected) // MAX_ROWS)
    return selected[:: max(step, 1)]


def _table(s: Sweep, points: Sequence[Point]) -> Iterator[str]:
    names = list(points[0].dims)
    is_several = len({p.target for p in points}) > 1
    head = [
        *map(s.label, names),
        *(["target"] if is_several else []),
        "time",
        INTERVAL,
        LOWER_BOUND,
        f"time/{s.label(names[0])}",
        "device traffic",
        "memory",
        "limited by",
    ]
    rows = [
        [
            *(str(p.dims[n]) for n in names),
            *([p.target] if is_several else []),
            time_text(p.time_s),
            _range(p),
            time_text(p.floor_s),
            time_text(p.time_s / max(p.dims[names[0]], 1)),
            size_text(p.device_bytes),
            size_text(p.memory_bytes) + ("" if p.fits else " !"),
            p.regime.value,
        ]
        for p in points
    ]
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        yield "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()


def _range(point: Point) -> str:
    """Format the prediction interval of a point."""
    if point.predicted is None:
        return "—"
    return time_range(point.predicted.low_s, point.predicted.high_s)


def _given(s: Sweep, fixed: Mapping[str, int]) -> str:
    return f" at {s.at(fixed)}" if fixed else ""


def _capacity(s: Sweep, c: Crossover) -> Iterator[str]:
    for limit in s.capacities:
        if limit.target == c.target and limit.fixed == c.fixed:
            yield f"memory{_given(s, c.fixed)}: {capacity_in_words(limit, s.label(limit.symbol))}"


def _kernels(s: Sweep, c: Crossover) -> Iterator[str]:
    for k in s.crossovers:
        if k.target == c.target and k.fixed == c.fixed and k.what != "model":
            yield f"  {k.what} ({k.node}): {in_words(k.spans, s.label(k.symbol))}"


def in_words(spans: Sequence[RegimeSpan], symbol: str) -> str:
    """Describe regimes: ``launch-bound up to batch 4, compute-bound from batch 5``."""
    first, last = spans[0], spans[-1]
    if first.first == last.last:
        return f"{first.regime.value}-bound at {symbol} {first.first}"
    if len(spans) == 1:
        return f"{first.regime.value}-bound from {symbol} {first.first} to {first.last}"
    parts = [f"{first.regime.value}-bound up to {symbol} {first.last}"]
    middle = spans[1:-1]
    if len(spans) <= MAX_SPANS:
        for sp in middle:
            where = f"from {symbol} {sp.first} to {sp.last}"
            if sp.first == sp.last:
                where = f"at {symbol} {sp.first}"
            parts.append(f"{sp.regime.value}-bound {where}")
    else:
        names = " and ".join(dict.fromkeys(sp.regime.value for sp in middle))
        parts.append(
            f"alternating between {names} from {symbol} {middle[0].first} to {middle[-1].last}"
        )
    parts.append(f"{last.regime.value}-bound from {symbol} {last.first}")
    return ", ".join(parts)


def capacity_in_words(c: SizeLimit, label: str = "") -> str:
    """Describe a capacity: ``does not fit in 79.1 GiB from batch 3264``."""
    size = size_text(c.capacity_bytes)
    if c.largest is None:
        return f"fits in {size} at every {label or c.symbol}"
    return f"does not fit in {size} from {label or c.symbol} {c.largest + 1}"
