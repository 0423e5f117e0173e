"""The first screen: the prediction, its limits, where time goes, and possible changes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice

from perfc.common.plain_text import printable

from ..amounts import ratio
from ..sections.confidence import Grade
from ..sections.kernels import groups
from ..sections.limits import LimitShare
from ..sections.phases import Step
from ..sections.verdict import Verdict
from ..units import INTERVAL, LOWER_BOUND, Unit, quantity, ratio_text, size_text, span, time_text
from ..views import Views
from .screen_tables import (
    LIMITED_BY,
    LIMITS,
    Line,
    help_lines,
    kind_lines,
    module_line,
    operation_lines,
    rest_line,
    slowest_line,
    useful,
    whole,
)
from .text import (
    GAP,
    HARD_SPACE,
    INDENT,
    ScreenFigure,
    Style,
    StyledText,
    aligned,
    columns_of,
    elided,
)

MOST_LINES = 25
"""Maximum number of lines of the screen."""
OPERATIONS = 5
"""Maximum number of kinds of operations."""
LEAST_OPERATIONS = 2
"""Minimum number of kinds of operations."""
NAMED = 0.985
"""Share of the kernels' time whose operations are in the table; the others are on one line."""
MARGINS = 3
"""A gap, the head of the changes and the closing line."""
WIDEST = 110
"""Maximum width of the screen."""
NARROW = 72
"""Columns of a page below which the confidence has its reason alone."""
FULL = "\N{FULL BLOCK}"
UNIT = re.compile(r"(\d) (\S{1,3}\b)")
"""Number and unit, which stay on one line; a longer word is no unit."""

GRADES = {Grade.HIGH: Style.GOOD, Grade.MEDIUM: Style.FAIR, Grade.LOW: Style.POOR}


def lines(views: Views, width: int, top: int | None = 0) -> Iterator[Line]:
    """Yield the lines of the screen, none longer than ``width``.

    Args:
        views: views of one report.
        width: columns of the page.
        top: kinds of kernels in a table below the screen, longest first; None for all.
    """
    room = max(min(width, WIDEST), 40)  # a narrower terminal wraps
    facts = aligned(printed(facts_of(views, room)), room, least=20)
    first = [*titles(views, room), (), *facts, *islice(limit_lines(views.verdict.limits, room), 1)]
    kinds = groups(views.kernels)
    changes = useful(views)
    # lines for operations, modules and changes; a change and two operations are always shown
    left = MOST_LINES - len(first) - MARGINS - bool(changes) - 1
    operations = min(OPERATIONS, max(left - 2, LEAST_OPERATIONS))
    table = list(time_lines(views, room, operations))
    left -= len(table)
    more = [*module_line(views.modules, room), *slowest_line(kinds, room)] if len(kinds) > 1 else []
    more = more[: max(left, 0)]
    yield from first
    yield from table
    yield from more
    if top != 0:
        yield ()
        yield from kind_lines(kinds[:top], room)
    yield ()
    yield from help_lines(changes[: max(left - len(more), 0) + 1], views.verdict, room)
    yield from next_lines(views, room)


def time_lines(views: Views, width: int, most: int) -> Iterator[Line]:
    """Yield the operations that take nearly all of the time, the fewest, and the rest."""
    operations = views.operations
    if not operations:
        return
    enough = NAMED * math.fsum(o.share for o in operations)
    named = accumulate(o.share for o in operations)
    shown = min(sum(share < enough for share in named) + 1, most)
    yield ()
    yield from operation_lines(operations[:shown], width)
    yield from rest_line(operations, shown, views.verdict, width)


def render(views: Views, width: int, top: int | None = 0) -> str:
    """Return the screen as plain text."""
    return "".join(f"{plain(line)}\n" for line in lines(views, width, top))


def plain(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(s.text for s in line).rstrip()


def verdict_line(verdict: Verdict) -> str:
    """Return the prediction in one line, for ``--quiet``."""
    v, memory = verdict, verdict.memory
    parts = [f"{time_words(v)} per run"]
    if v.is_predicted:
        parts[0] += f" ({span(v.expected.low, v.expected.high, Unit.SECOND)})"
    if v.time_s > 0:
        parts.append(throughput_words(v))
    if memory.capacity_bytes is not None:
        needed = size_text(memory.total_bytes)
        fits = "fits in" if memory.fits else "does not fit in"
        parts.append(f"{needed} {fits} {size_text(memory.capacity_bytes)}")
    if v.limits:
        parts.append(f"limited by {v.limits[0].title}")
    if v.confidence is not None:
        parts.append(f"confidence {v.confidence.grade.value}")
    return printable(f"{v.model} on {v.machine}: {', '.join(parts)}")


def summary_lines(views: Views) -> tuple[str, str, str]:
    """Return three lines: model and machine, predicted time, lower bound and memory."""
    v = views.verdict
    model, machine, *parts = (printable(elided(part, WIDEST)) for part in running(views))
    first = f"{'predicted' if v.is_predicted else 'time'} {time_words(v)} per run"
    if v.is_predicted:
        first += f" ({interval_words(v)})"
    time_parts = [first]
    if v.time_s > 0:
        time_parts.append(throughput_words(v))
    if v.confidence is not None:
        time_parts.append(f"confidence {v.confidence.grade.value}")
    # words before a colon are about the capacity; an unknown capacity has none
    needed, words, _ = memory_words(v)
    limit_parts = [f"{LOWER_BOUND} {time_text(v.floor_s)}"]
    limit_parts += [f"limited by {v.limits[0].title}"] if v.limits else []
    available = f" {words.partition(':')[0]}" if ":" in words else ""
    limit_parts.append(f"memory {needed}{available}")
    title = " · ".join([f"{model} on {machine}", *parts])
    return title, f"  {', '.join(time_parts)}", f"  {', '.join(limit_parts)}"


def running(views: Views) -> list[str]:
    """Return model, machine, sizes, runtime and precision as words."""
    a, v = views.assumptions, views.verdict
    sizes = [f"{s.label} {s.value}" for s in a.symbols if s.origin != "data"]
    # at least two sizes are left out, as "1 more sizes" is no shorter than the size itself
    shown = [*sizes[:3], f"{len(sizes) - 3} more sizes"] if len(sizes) > 4 else sizes
    computed = {k.dtype for k in views.kernels if (k.mac.value or 0) > 0}
    stored = ", ".join(sorted(computed)) or "stored types"
    narrow = "TF32" if a.tf32 is True else f"TF32 {a.tf32}"
    types = f"{stored} ({narrow})" if a.tf32 and uses_tf32(views) else stored
    precision = a.dtype or a.trained_in.partition(" (")[0] or types
    return [v.model, v.machine, *shown, v.runtime, precision]


def titles(views: Views, width: int) -> Iterator[Line]:
    """Yield the title lines: model, machine and setting."""
    model, *parts = running(views)
    line, style = printable(elided(model, width - 4)), Style.TITLE
    # model on machine · sizes · runtime · precision
    for separator, part in zip((" on ", *([" · "] * len(parts))), parts, strict=False):
        words = printable(elided(part, width - 4))
        if columns_of(line) + columns_of(separator + words) > width:
            yield (StyledText(line, style),)
            # a continued line starts without the dot
            line = f"{INDENT}{separator.replace('·', '').lstrip()}{words}"
        else:
            line += separator + words
    yield (StyledText(line, style),)


def uses_tf32(views: Views) -> bool:
    """Return True if f32 products use TF32."""
    rates = views.assumptions.rates
    return any(r.ceiling == "matrix" and r.dtype == "f32" and ".tf32." in r.key for r in rates)


def time_words(verdict: Verdict) -> str:
    """Return the time of a run as text."""
    return ("≥ " if verdict.is_bound else "") + time_text(verdict.time_s)


def interval_words(verdict: Verdict) -> str:
    """Return the prediction interval as text; one without unknown costs if the time is a bound."""
    ends = span(verdict.expected.low, verdict.expected.high, Unit.SECOND)
    return f"{INTERVAL} {ends}{' without unknown costs' if verdict.is_bound else ''}"


def throughput_words(verdict: Verdict) -> str:
    """Return the throughput with three digits."""
    per_s = verdict.throughput.per_s
    if per_s >= 1e6:
        number = quantity(per_s, Unit.COUNT)
    else:
        # three digits: from 99.95 and 9.995 on, rounding gives one more in front
        digits = 0 if per_s >= 99.95 else 1 if per_s >= 9.995 else 2
        step = 10 ** max(len(str(int(per_s))) - 3, 0)
        number = f"{round(per_s / step) * step:,}" if not digits else f"{per_s:.{digits}f}"
    return f"{'≤ ' if verdict.is_bound else ''}{number} {verdict.throughput.item.value}/s"


def facts_of(views: Views, width: int = WIDEST) -> Iterator[ScreenFigure]:
    """Yield predicted time, confidence, model, lower bound, memory, phases and energy.

    Args:
        views: views of one report.
        width: columns of the page; narrow ones have the reason of the confidence alone.
    """
    v = views.verdict
    if v.is_predicted:
        words = f"{throughput_words(v)}, {interval_words(v)}"
        yield ScreenFigure("predicted", time_words(v), words, Style.NUMBER)
    else:
        words = f"{throughput_words(v)}, at measured rates (--no-predict)"
        yield ScreenFigure("time", time_words(v), words, Style.NUMBER)
    if v.confidence is not None:
        grade = v.confidence.grade
        words = v.confidence.words if width >= NARROW else v.confidence.reason
        yield ScreenFigure("confidence", grade.value, words, GRADES[grade])
    yield ScreenFigure("model", *work_words(views))
    times = ratio(v.time_s, v.floor_s)
    headline = "the predicted time" if v.is_predicted else "the time"
    # smaller factors would print as 1.0
    words = (
        f"{ratio_text(times, 1)} × below {headline}" if times >= 1.05 else f"as long as {headline}"
    )
    yield ScreenFigure(LOWER_BOUND, time_text(v.floor_s), words, Style.NUMBER)
    yield ScreenFigure("memory", *memory_words(v, is_narrow=width < NARROW))
    if v.step is not None:
        yield ScreenFigure("phases", *step_words(v.step))
    if v.energy is not None:
        words = f"{span(v.energy.low, v.energy.high, Unit.JOULE)} per run, board only"
        least = "≥ " if v.is_bound else ""
        yield ScreenFigure("energy", least + quantity(v.energy.mid, Unit.JOULE), words, Style.PLAIN)


def work_words(views: Views) -> tuple[str, str, Style]:
    """Return the parameters, and work with its rate and the share of the peak of its units."""
    work, time_s = views.work, views.verdict.time_s
    words = ["parameters", str(work.mac)] if work.mac.value else ["parameters"]
    if (flop := work.flop.value) and time_s > 0:
        of_peak = f" ({whole(peak_s(views) / time_s)} of peak)" if work.mac.value else ""
        words.append(f"{quantity(flop / time_s, Unit.FLOP_PER_S)}{of_peak}")
    return str(work.parameters), " · ".join(words), Style.NUMBER


def peak_s(views: Views) -> float:
    """Return the time of all multiply-accumulates at the peak rates of their units."""
    # of several rates of a type, as of TF32 for convolutions alone, the highest
    rates = ((r.dtype, r.floor_per_s) for r in views.assumptions.rates if r.ceiling == "matrix")
    peaks = dict(sorted(rates))
    return math.fsum(2 * k.mac.value / peaks[k.dtype] for k in views.kernels if k.mac.value)


def step_words(step: Step) -> tuple[str, str, Style]:
    """Describe the phases of a training step, longest first, with their limits."""
    longest, *others = sorted(step.phases, key=lambda p: -p.time_s)
    # smaller shares would print as 0 %
    parts = [f"{p.phase} {p.share:.0%}, {p.limited_by}" for p in others if p.share >= 0.005]
    saved = size_text(step.saved_bytes)
    words = "; ".join([longest.limited_by, *parts, f"{saved} saved for backward"])
    return f"{longest.phase} {longest.share:.0%}", words, Style.NUMBER


def printed(facts: Iterable[ScreenFigure]) -> list[ScreenFigure]:
    """Return figures whose words are printable and keep each number next to its unit."""
    return [replace(f, words=UNIT.sub(rf"\1{HARD_SPACE}\2", printable(f.words))) for f in facts]


def memory_words(v: Verdict, *, is_narrow: bool = False) -> tuple[str, str, Style]:
    """Describe the memory of a run against the capacity of the machine; narrow pages lack parts."""
    m = v.memory
    more = "≥ " if m.is_bound else ""
    needed = more + size_text(m.total_bytes)
    weights, live = size_text(m.weight_bytes), size_text(m.activation_bytes)
    parts = f"weights {weights}, activations {live}"
    if m.context_bytes:
        parts = f"{parts}, context {size_text(m.context_bytes)}"
    if m.capacity_bytes is None:
        return needed, parts, Style.PLAIN
    room = size_text(m.capacity_bytes)
    if m.fits:
        return needed, f"of {room}" if is_narrow else f"of {room}: {parts}", Style.PLAIN
    reserved = size_text(m.held_bytes)
    return needed, f"does not fit in {room} with {reserved} reserved: {parts}", Style.POOR


def limit_lines(limits: Sequence[LimitShare], width: int) -> Iterator[Line]:
    """Yield the limits of the predicted time, largest first: name, percent and bar."""
    label = f"{INDENT}{LIMITED_BY:{len(LOWER_BOUND)}}{GAP}"
    entries = [
        (limit, percent, f"{limit.title} {percent} %")
        for limit, percent in zip(limits, percents(limits), strict=True)
        if percent
    ]
    line: list[StyledText] = [StyledText(label, Style.FAINT)]
    used = len(label)
    for limit, percent, words in entries:
        bar = FULL * round(percent / 5)  # a block is 5 %
        size = len(words) + 1 + len(bar)
        is_first = len(line) == 1
        if not is_first and used + len(GAP) + size > width:
            yield tuple(line)
            line, used, is_first = [StyledText(" " * len(label))], len(label), True
        gap = "" if is_first else GAP
        style = LIMITS.get(limit.key, Style.WAITING)
        line += [StyledText(f"{gap}{words} "), StyledText(bar, style)]
        used += len(gap) + size
    if entries:
        yield tuple(line)


def percents(limits: Sequence[LimitShare]) -> list[int]:
    """Round shares to percents that add up to 100, by largest remainder."""
    exact = [100 * limit.share for limit in limits]
    rounded = [int(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda i: rounded[i] - exact[i])
    for i in order[: round(sum(exact)) - sum(rounded)]:
        rounded[i] += 1
    return rounded


def next_lines(views: Views, width: int) -> Iterator[Line]:
    """Yield the closing line: commands for the full report, the page and the longest kernel."""
    parts = ["--full", "-o report.html", "perfc lint MODEL"]
    kinds = groups(views.kernels)
    if kinds:
        parts.insert(2, f"perfc explain MODEL kernel:{kinds[0].first.index}")
    line = f"{INDENT}more: {parts[0]}"
    for part in map(printable, parts[1:]):
        if columns_of(f"{line}  ·  {part}") > width:
            break
        line += f"  ·  {part}"
    yield (StyledText(line, Style.FAINT),)
