"""Tables of the first screen: where time goes, and possible changes with their gains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from perfc.common.plain_text import printable
from perfc.ir import record

from ..amounts import ratio, title
from ..memory_sections.remedies import Remedy
from ..names import place
from ..sections.kernels import KernelGroup, title_of
from ..sections.limits import FIXED
from ..sections.operations import ModuleTime, OperationTime
from ..sections.verdict import Verdict
from ..units import LOWER_BOUND, share, time_text
from ..views import Views
from .text import GAP, INDENT, ROOM_FOR_NAMES, Style, StyledText, columns_of, elided, padded

Line = tuple[StyledText, ...]
REMEDIES = 3
"""Maximum number of changes shown."""
LEAST_SAVING = 0.01
"""Minimum share of the time that a change must save to be shown."""
LEAST_PLACE = 14
"""Minimum width of the places in the model."""
LEAST_SHARE = 0.005
"""Share below which whole percents are 0 %: such modules are left out."""
LONGEST_PLACE = 24
"""Maximum width of a place on the line of the slowest kernels."""
SLOWEST = 3
"""Maximum number of kinds of kernels on that line."""
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


def operation_lines(shown: Sequence[OperationTime], width: int) -> Iterator[Line]:
    """Yield the table of kinds of operations: name, share, time, launches, bound and limit.

    Args:
        shown: kinds of operations, longest first.
        width: columns of the page.
    """
    styles = tuple(LIMITS.get(o.limited_by, Style.WAITING) for o in shown)
    columns = [
        ScreenColumn(("share", *(share(o.share) for o in shown)), True),
        ScreenColumn(("time", *(time_text(o.time_s) for o in shown)), True),
        ScreenColumn(("launches", *(f"{o.launches:g}" for o in shown)), True),
        ScreenColumn((LOWER_BOUND, *(time_text(o.floor_s) for o in shown)), True),
        ScreenColumn(
            (LIMITED_BY, *(title(o.limited_by) for o in shown)), False, (Style.FAINT, *styles)
        ),
    ]
    names, columns = fitted(columns, width)
    cells = [elided("where time goes", names), *(examples_of(o, names) for o in shown)]
    yield from table_lines(ScreenColumn(tuple(cells), False), columns)


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
    room, columns = fitted(columns, width)
    yield from table_lines(name_column(kinds, room), columns)


def fitted(columns: list[ScreenColumn], width: int) -> tuple[int, list[ScreenColumn]]:
    """Return the width of names and the columns next to them; narrow pages lack the bound."""
    room = width - len(INDENT) - sum(c.width + len(GAP) for c in columns)
    if room >= ROOM_FOR_NAMES:
        return room, columns
    spare = next(c for c in columns if c.cells[0] == LOWER_BOUND)
    return room + spare.width + len(GAP), [c for c in columns if c is not spare]


def table_lines(names: ScreenColumn, columns: Sequence[ScreenColumn]) -> Iterator[Line]:
    """Yield the lines of a table: names, and columns with styles of their own."""
    for i, name in enumerate(names.cells):
        line = [StyledText(INDENT + padded(name, names.width, align_right=False), head(i))]
        for c in columns:
            style = c.styles[i] if c.styles else head(i)
            line.append(
                StyledText(GAP + padded(c.cells[i], c.width, align_right=c.is_right), style)
            )
        yield tuple(line)


def examples_of(operation: OperationTime, room: int) -> str:
    """Return the name of a kind of operation, with as many of its operators as fit."""
    line = elided(operation.name, room)
    for i, word in enumerate(operation.examples):
        longer = f"{line}{', ' if i else ': '}{printable(word)}"
        if columns_of(longer) > room or word.lower() == operation.name:
            break
        line = longer
    return line


def rest_line(
    operations: Sequence[OperationTime], shown: int, verdict: Verdict, width: int
) -> Iterator[Line]:
    """Yield the line of shares outside of the table: other operations, and the run's overhead.

    Args:
        operations: all kinds of operations, longest first.
        shown: number of those in the table.
        verdict: headline of the report.
        width: columns of the page.
    """
    fixed = [limit for limit in verdict.limits if limit.key == FIXED]
    printed = [*(o.share for o in operations[:shown]), *(limit.share for limit in fixed)]
    # the rest of the shares as printed, in tenths of a percent: the column adds up to 100 %
    rest_share = max(1 - math.fsum(round(part, 3) for part in printed), 0.0)
    words = [f"{limit.title} {share(limit.share)}" for limit in fixed]
    if others := operations[shown:]:
        names = ", ".join(o.name for o in others[:2])
        title_of_rest = names if len(others) <= 2 else f"{len(others)} other operations"
        words.insert(0, f"{title_of_rest} {share(rest_share)}")
    yield from joined("", words, width)


def module_line(modules: Sequence[ModuleTime], width: int) -> Iterator[Line]:
    """Yield the line of times by module, as many as fit."""
    words = (
        f"{printable(m.name)} {whole(m.share)}{f' ({m.count} blocks)' if m.count > 1 else ''}"
        for m in modules
        if m.share >= LEAST_SHARE
    )
    yield from joined("by module", words, width)


def slowest_line(kinds: Sequence[KernelGroup], width: int) -> Iterator[Line]:
    """Yield the line of the longest kinds of kernels with their places, as many as fit."""
    words = (
        f"{printable(title_of(g.first))} {elided(printable(place_of(g)), LONGEST_PLACE, 0)} "
        f"{whole(g.predicted_share)}"
        for g in kinds[:SLOWEST]
    )
    yield from joined("slowest", words, width)


def joined(label: str, words: Iterable[str], width: int) -> Iterator[Line]:
    """Yield words after a label on one line, as many as fit; no line if none fits."""
    start = f"{INDENT}{label:{len(LOWER_BOUND)}}{GAP}" if label else f"{INDENT}… "
    line = ""
    for word in words:
        longer = f"{line} · {word}" if line else word
        if columns_of(start + longer) > width:
            break
        line = longer
    if line:
        style = Style.PLAIN if label else Style.FAINT
        yield (StyledText(start, Style.FAINT), StyledText(line, style))


def whole(part: float) -> str:
    """Return a share in whole percents."""
    return "<1 %" if 0 < part < LEAST_SHARE else f"{part:.0%}".replace("%", " %")


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
    return ScreenColumn(("kernels", *cells), False)


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


def useful(views: Views) -> list[Remedy]:
    """Return the changes worth making that have a command, largest saving first."""
    total_s = views.verdict.time_s
    named = (r for r in views.remedies if r.option)
    return [r for r in named if ratio(r.saving_s, total_s) >= LEAST_SAVING][:REMEDIES]


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
    """Return a change with its option, or the option alone where both do not fit."""
    option = printable(remedy.option)
    named = f"{remedy.name} ({option})"
    return named if columns_of(named) <= width else elided(option, width)


def remedy_cells(remedy: Remedy, verdict: Verdict) -> tuple[str, str]:
    """Return the time of the run with a change, and the saving per item."""
    saved = ratio(remedy.saving_s, verdict.time_s)
    return time_text(remedy.time_s), f"-{100 * saved:.0f} %"
