"""Notebook output of the first screen: self-contained HTML with style and charts, no script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir import record

from ..amounts import ratio, title
from ..sections.confidence import Grade
from ..sections.kernels import KernelGroup, groups, title_of
from ..sections.limits import LimitShare
from ..sections.verdict import Verdict
from ..units import bucketed, share, time_text
from ..views import Views
from .screen import KINDS, facts_of, percents, running
from .screen_tables import LIMITS, gain_title, place_of, remedy_cells, rest_lines, useful
from .text import Style, clipped

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "notebook.html.j2"
SPANS = 64
"""Maximum number of bars in the memory chart."""
NO_LIMIT = 10_000
"""Width of lines that a browser wraps: larger than any text."""
GRADES = {Grade.HIGH: "good", Grade.MEDIUM: "fair", Grade.LOW: "poor"}


@record
class BarPart:
    """A colored part of a bar.

    Args:
        words: tooltip with its number.
        percent: length in percent of the bar.
        kind: ``compute``, ``traffic`` or ``waiting``.
    """

    words: str
    percent: float
    kind: str


@record
class KernelKindRow:
    """A row of equal kernels.

    Args:
        words: title of the kernels.
        place: place in the model.
        cells: share, count, time and lower bound of each.
        bar: bar of the share, the largest as long as the column.
        limit: limiting ceiling.
    """

    words: str
    place: str
    cells: tuple[str, str, str, str]
    bar: BarPart
    limit: str


def render(views: Views) -> str:
    """Return the screen as self-contained HTML; names from files are escaped."""
    v = views.verdict
    model, machine, *setting = (clipped(part) for part in running(views))
    ordered = groups(views.kernels)
    lines = rest_lines(ordered, KINDS, v, NO_LIMIT)
    rest = "".join(s.text for line in lines for s in line)
    return (
        template(TEMPLATE)
        .render(
            model=model,
            machine=machine,
            how=" · ".join(setting),
            facts=[(f.label, f.number, printable(f.words)) for f in facts_of(v)],
            grade="" if v.confidence is None else GRADES[v.confidence.grade],
            strip=strip(v),
            limits=[part(x, p) for x, p in zip(v.limits, percents(v.limits), strict=True) if p],
            kinds=kinds(ordered[:KINDS], v.time_s),
            rest=rest.replace("(--top all)", "").strip(),  # a notebook has no options
            gain=gain_title(useful(views), v),
            remedies=[(r.name, r.option, *remedy_cells(r, v)) for r in useful(views)],
            memory=bars(views.memory.live_bytes),
            peak=str(views.memory.peak_bytes),
        )
        .strip()
    )


@cache
def template(name: str) -> Template:
    """Load a template of the package `perfc.view.report` with autoescaping."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("perfc.view.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template(name)


def strip(v: Verdict) -> dict[str, float]:
    """Return lower bound, interval and predicted time in percent of the longest."""
    last_s = max(v.expected.high, v.time_s, v.floor_s)
    times_s = {"floor": v.floor_s, "low": v.expected.low, "mid": v.time_s, "high": v.expected.high}
    return {name: round(100 * ratio(time_s, last_s), 2) for name, time_s in times_s.items()}


def part(limit: LimitShare, percent: int) -> BarPart:
    """Return one part of the bar of limits."""
    return BarPart(f"{limit.title} {percent} %", round(100 * limit.share, 2), kind_of(limit.key))


def kind_of(key: str) -> str:
    """Return the color class of a limit: compute, traffic or waiting."""
    match LIMITS.get(key):
        case Style.COMPUTE:
            return "compute"
        case Style.TRAFFIC:
            return "traffic"
        case _:
            return "waiting"


def kinds(shown: Sequence[KernelGroup], total_s: float) -> list[KernelKindRow]:
    """Return the rows of kernels."""
    largest = max((g.predicted_share for g in shown), default=0.0)
    rows: list[KernelKindRow] = []
    for g in shown:
        each_s = ratio(g.predicted_share * total_s, len(g.rows))
        percent = share(g.predicted_share)
        cells = (percent, str(len(g.rows)), time_text(each_s), time_text(g.first.floor_s))
        bar = BarPart(
            percent, round(100 * ratio(g.predicted_share, largest), 2), kind_of(g.first.held_by)
        )
        words, where = clipped(title_of(g.first)), clipped(place_of(g))
        rows.append(KernelKindRow(words, where, cells, bar, title(g.first.held_by)))
    return rows


def bars(live_bytes: Sequence[float]) -> list[float]:
    """Return heights of the memory chart in percent of the highest."""
    values = bucketed(live_bytes, SPANS)
    largest = max(values, default=0.0)
    return [round(100 * ratio(value, largest), 1) for value in values] if largest > 0 else []
