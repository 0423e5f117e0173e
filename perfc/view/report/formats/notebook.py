"""Notebook output of the first screen: self-contained HTML with style and charts, no script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir import record

from ..amounts import ratio, title
from ..sections.confidence import Grade
from ..sections.kernels import groups
from ..sections.limits import LimitShare
from ..sections.operations import OperationTime
from ..sections.verdict import Verdict
from ..units import bucketed, share, time_text
from ..views import Views
from .screen import facts_of, percents, plain, running
from .screen_tables import (
    LIMITS,
    gain_title,
    module_line,
    remedy_cells,
    rest_line,
    slowest_line,
    useful,
)
from .text import Style, clipped

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "notebook.html.j2"
SPANS = 64
"""Maximum number of bars in the memory chart."""
EXAMPLES = 4
"""Maximum number of operators named in a row."""
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
class OperationRow:
    """A row of one kind of operation.

    Args:
        name: title of the kind.
        examples: operators of its kernels.
        cells: share, time, launches and lower bound.
        bar: bar of the share, the largest as long as the column.
        limit: limiting ceiling.
    """

    name: str
    examples: str
    cells: tuple[str, str, str, str]
    bar: BarPart
    limit: str


def render(views: Views) -> str:
    """Return the screen as self-contained HTML; names from files are escaped."""
    v = views.verdict
    model, machine, *setting = (clipped(part) for part in running(views))
    operations, kinds = views.operations, groups(views.kernels)
    lines = chain(
        rest_line(operations, len(operations), v, NO_LIMIT),
        module_line(views.modules, NO_LIMIT),
        slowest_line(kinds, NO_LIMIT),
    )
    return (
        template(TEMPLATE)
        .render(
            model=model,
            machine=machine,
            how=" · ".join(setting),
            facts=[(f.label, f.number, printable(f.words)) for f in facts_of(views)],
            grade="" if v.confidence is None else GRADES[v.confidence.grade],
            strip=strip(v),
            limits=[part(x, p) for x, p in zip(v.limits, percents(v.limits), strict=True) if p],
            operations=rows_of(operations),
            rest=[plain(line).strip() for line in lines],
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


def rows_of(operations: Sequence[OperationTime]) -> list[OperationRow]:
    """Return the rows of kinds of operations."""
    largest = max((o.share for o in operations), default=0.0)
    return [
        OperationRow(
            o.name,
            clipped(", ".join(o.examples[:EXAMPLES])),
            (share(o.share), time_text(o.time_s), f"{o.launches:g}", time_text(o.floor_s)),
            BarPart(share(o.share), round(100 * ratio(o.share, largest), 2), kind_of(o.limited_by)),
            title(o.limited_by),
        )
        for o in operations
    ]


def bars(live_bytes: Sequence[float]) -> list[float]:
    """Return heights of the memory chart in percent of the highest."""
    values = bucketed(live_bytes, SPANS)
    largest = max(values, default=0.0)
    return [round(100 * ratio(value, largest), 1) for value in values] if largest > 0 else []
