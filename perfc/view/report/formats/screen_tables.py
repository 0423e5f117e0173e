"""Tables of the first screen: kinds of kernels, and possible changes with their gains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perfc.common.plain_text import printable
from perfc.ir import record

from ..amounts import ratio, title
from ..memory_sections.remedies import Remedy
from ..names import place
from ..sections.kernels import KernelGroup, title_of
from ..sections.limits import FIXED
from ..sections.verdict import Verdict
from ..units import LOWER_BOUND, plural, share, time_text
from ..views import Views
from .text import GAP, INDENT, ROOM_FOR_NAMES, Style, StyledText, columns_of, elided, padded

Line = tuple[StyledText, ...]
REMEDIES = 3
"""Maximum number of changes shown."""
LEAST_SAVING = 0.01
"""Minimum share of the time that a change must save to be shown."""
LEAST_PLACE = 14
"""Minimum width of the places in the model."""
LIMITED_BY = "limited by"
LIMITS = {
    "matrix": Style.COMPUTE,
    "vector": Style.COMPUTE,
    "special": Style.COMPUTE,
    "integer": Style.COMPUTE,
    "l1": Style.TRAFFIC,
    "l2": Style.TRAFFIC,
    "device": Style.TRAFFIC,
}
"""Styles of limits: work or traffic; the other limits have the style of waiting."""


@record
class ScreenColumn:
    """Cells of one column of the screen, starting with its head."""

    cells: tuple[str, ...]
    is_right: bool
    styles: tuple[Style, ...] = ()

    @property
    def width(self) -> int:
        """Return the width in characters."""
        return max(map(columns_of, self.cells))


def kind_lines(kinds: Sequence[KernelGroup], width: int) -> Iterator[Line]:
    """Yield the table of kinds of kernels: name, share, count, time, lower bound and limit.

    Args:
        kinds: groups of equal kernels.
        width: columns of the page.
    """
    each = [ratio(g.predicted_s, len(g.rows)) for g in kinds]
    limit = [title(g.first.held_by) for g in kinds]
    styles = tuple(LIMITS.get(g.first.held_by, Style.WAITING) for g in kinds)
    columns = [
        ScreenColumn(("share", *(share(g.predicted_share) for g in kinds)), True),
        ScreenColumn(("n", *(str(len(g.rows)) for g in kinds)), True),
        ScreenColumn(("each", *(time_text(t) for t in each)), True),
        ScreenColumn((LOWER_BOUND, *(time_text(g.first.floor_s) for g in kinds)), True),
        ScreenColumn((LIMITED_BY, *limit), False, (Style.FAINT, *styles)),
    ]
    room = width - len(INDENT) - sum(c.width + len(GAP) for c in columns)
    if room < ROOM_FOR_NAMES:
        dropped = columns.pop(3)  # narrow pages leave out the lower bound
        room += dropped.width + len(GAP)
    names = name_column(kinds, room)
    for i in range(len(kinds) + 1):
        line = [
            StyledText(INDENT + padded(names.cells[i], names.width, align_right=False), head(i))
        ]
        for c in columns:
            style = c.styles[i] if c.styles else head(i)
            line.append(
                StyledText(GAP + padded(c.cells[i], c.width, align_right=c.is_right), style)
            )
        yield tuple(line)


def head(row: int) -> Style:
    """Return the style of a row: faint for the head."""
    return Style.PLAIN if row else Style.FAINT


def name_column(kinds: Sequence[KernelGroup], room: int) -> ScreenColumn:
    """Return the column of kernel names and places, fitted to the width."""
    labels = [printable(title_of(g.first)) for g in kinds]
    places = [printable(place_of(g)) for g in kinds]
    longest = max(map(columns_of, labels))
    free_width = room - longest - len(GAP)
    if free_width < LEAST_PLACE:
        # long names of operators leave at least half of the column, or the least place
        longest = min(longest, max(room - LEAST_PLACE - len(GAP), room // 2))
        free_width = room - longest - len(GAP)
    cells = [
        padded(cut(label, longest), longest, align_right=False) + GAP + elided(where, free_width, 0)
        if free_width >= LEAST_PLACE // 2  # in less no place can be read
        else cut(label, room)
        for label, where in zip(labels, places, strict=True)
    ]
    heading = "where the time goes" if room >= len("where the time goes") else "kernels"
    return ScreenColumn((heading, *cells), False)


def place_of(group: KernelGroup) -> str:
    """Return the place of equal kernels in the model."""
    return place([r.anchor for r in group.rows], operator(group))


def cut(label: str, width: int) -> str:
    """Drop the last operators of a label that does not fit."""
    if columns_of(label) <= width:
        return label
    short = label
    while columns_of(f"{short} …") > width and " + " in short:
        short = short.rpartition(" + ")[0]
    return f"{short} …" if columns_of(f"{short} …") <= width else elided(short, width)


def operator(group: KernelGroup) -> str:
    """Return the operator that node names end in: a word of the kernel's title."""
    return next((w for w in group.first.title.split() if f"/{w}" in group.first.anchor), "")


def rest_lines(
    kinds: Sequence[KernelGroup], shown: int, verdict: Verdict, width: int
) -> Iterator[Line]:
    """Yield the line of omitted kinds and of the fixed time: what the shown shares leave.

    Args:
        kinds: all kinds of kernels, longest first.
        shown: number of those that are shown.
        verdict: headline of the report.
        width: columns of the page; parts that do not fit are left out.
    """
    fixed = [limit for limit in verdict.limits if limit.key == FIXED]
    printed = [*(g.predicted_share for g in kinds[:shown]), *(limit.share for limit in fixed)]
    # the rest of the shares as printed, in tenths of a percent: the column adds up to 100 %
    rest_share = max(1 - math.fsum(round(part, 3) for part in printed), 0.0)
    parts: list[str] = []
    if kinds[shown:]:
        more = plural(len(kinds) - shown, "more kind")
        parts.append(f"{share(rest_share)} in {more} (--top all)")
    parts += [f"{share(limit.share)} {limit.title}" for limit in fixed]
    line = f"{INDENT}… {', '.join(parts)}"
    while len(parts) > 1 and columns_of(line) > width:
        parts.pop()
        line = f"{INDENT}… {', '.join(parts)}"
    if parts:
        yield (StyledText(line, Style.FAINT),)


def useful(views: Views) -> list[Remedy]:
    """Return the changes worth making, largest saving first."""
    total_s, remedies = views.verdict.time_s, views.remedies
    return [r for r in remedies if ratio(r.saving_s, total_s) >= LEAST_SAVING][:REMEDIES]


def help_lines(useful: Sequence[Remedy], verdict: Verdict, width: int) -> Iterator[Line]:
    """Yield the table of changes with the analyzed time of each; empty without changes."""
    if not useful:
        return
    rows = [remedy_cells(r, verdict) for r in useful]
    times = ScreenColumn(("predicted", *(r[0] for r in rows)), True)
    gains = ScreenColumn((gain_title(useful, verdict), *(r[1] for r in rows)), True)
    room = width - len(INDENT) - times.width - gains.width - 2 * len(GAP)
    cells = (fitting(r, room) for r in useful)
    names = ScreenColumn((elided("what would help", room), *cells), False)
    for i in range(len(rows) + 1):
        name = padded(names.cells[i], names.width, align_right=False)
        time = padded(times.cells[i], times.width, align_right=True)
        gain = padded(gains.cells[i], gains.width, align_right=True)
        yield (
            StyledText(f"{INDENT}{name}{GAP}{time}{GAP}", head(i)),
            StyledText(gain, Style.GOOD if i else Style.FAINT),
        )


def gain_title(useful: Sequence[Remedy], verdict: Verdict) -> str:
    """Return the head of the gains: per item for larger batches, else per run."""
    is_batch = any(r.items > 1 for r in useful)
    return f"per {verdict.throughput.item.value.removesuffix('s') if is_batch else 'run'}"


def fitting(remedy: Remedy, width: int) -> str:
    """Return the longest form of a change and its option that fits."""
    option = printable(remedy.option)
    forms = (
        f"{remedy.name} ({option or 'assumed gaps'})",
        remedy.name,
        option or remedy.name,
    )
    return next((f for f in forms if columns_of(f) <= width), elided(forms[-1], width))


def remedy_cells(remedy: Remedy, verdict: Verdict) -> tuple[str, str]:
    """Return the time of the run with a change, and the saving per item."""
    saved = ratio(remedy.saving_s, verdict.time_s)
    return time_text(remedy.time_s), f"-{100 * saved:.0f} %"
