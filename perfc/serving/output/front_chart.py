"""Text chart of cost against time per token, with one letter per machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from perfc.ir import record
from perfc.view.report.formats.document import Column, Note, Part, Table
from perfc.view.report.units import plural, time_text

from ..search import GPU_TIME, SearchResult, cost_of

WIDTH, HEIGHT = 72, 14
FAR = 3.0
"""Multiple of the front's slowest and most expensive setting beyond which none is drawn."""
TICKS = (0, HEIGHT // 2, HEIGHT - 1)


@record
class Dot:
    """A setting in the chart.

    Args:
        time_s: time per token.
        cost: cost in the unit of the search.
        target: machine.
        is_best: True on the Pareto front.
        words: label of the setting.
    """

    time_s: float
    cost: float
    target: str
    is_best: bool
    words: str


def _words(weights: str, ranks: int, expert: int, users: int) -> str:
    experts = f", ep {expert}" if expert > 1 else ""
    label = f"{weights or 'published'} weights, {plural(ranks, 'GPU')}"
    return f"{label}{experts}, {plural(users, 'user')}"


def dots_of(result: SearchResult) -> list[Dot]:
    """Return the dots of a search: other settings first, then the Pareto front over them."""
    others = [
        Dot(s.tpot_s, s.cost, s.target, False, _words(s.weights, s.tensor, s.expert, s.users))
        for s in result.others
    ]
    is_priced = result.cost_unit != GPU_TIME
    best = [
        Dot(
            r.latencies.tpot.mean,
            cost_of(r, is_priced=is_priced),
            r.target,
            True,
            _words(r.weights, r.gpus, r.parallel.expert, r.load.concurrency),
        )
        for r in result.pareto
        if r.latencies is not None and r.latencies.tpot is not None
    ]
    if not best:
        return best
    slowest, dearest = max(d.time_s for d in best), max(d.cost for d in best)
    near = [d for d in others if d.time_s < FAR * slowest and 0 < d.cost < FAR * dearest]
    return [*near, *best]


def front_chart(result: SearchResult) -> Iterator[Part]:
    """Yield the chart as a table of text lines and a note that explains its letters."""
    dots = dots_of(result)
    if len(dots) < 2:
        return
    letters = {
        name: ascii_lowercase[i % 26]
        for i, name in enumerate(dict.fromkeys(d.target for d in dots))
    }
    across, up = (_axis([getattr(d, name) for d in dots]) for name in ("time_s", "cost"))
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    for dot in dots:
        x, y = (
            round(across.place(dot.time_s) * (WIDTH - 1)),
            round((1 - up.place(dot.cost)) * (HEIGHT - 1)),
        )
        letter = letters[dot.target]
        if dot.is_best or rows[y][x] == " ":
            rows[y][x] = letter.upper() if dot.is_best else letter
    first, last = map(time_text, (across.low, across.high))
    lines = tuple(
        (f"{up.at(1 - i / (HEIGHT - 1)):.3g}" if i in TICKS else "", "│" + "".join(row))
        for i, row in enumerate(rows)
    )
    ruler = "└" + first + "─" * (WIDTH - len(first) - len(last)) + last
    title = "time per token, lower left is better"
    yield Table((Column("cost", result.cost_unit), Column("chart", title)), (*lines, ("", ruler)))
    names = ", ".join(f"{letter} {name}" for name, letter in letters.items())
    yield Note(f"{names}; capital letters: no other setting is both cheaper and faster")


@record
class LogAxis:
    """A logarithmic axis between two values."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value as a share of the axis."""
        return math.log(value / self.low) / math.log(self.high / self.low)

    def at(self, share: float) -> float:
        """Return the value at a share of the axis."""
        return float(self.low * (self.high / self.low) ** share)


def _axis(values: Sequence[float]) -> LogAxis:
    low, high = min(values), max(values)
    return LogAxis(low, high) if high > 1.01 * low else LogAxis(low / 1.1, high * 1.1)
