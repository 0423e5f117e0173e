"""Time line of a trace: marked steps, operators and launches of the host, kernels by stream.

`lanes_of` builds it for the page of a trace, `to_perfetto` writes it as a Chrome trace. A lane is a
thread of the host or a stream of a device, a span an operator, launch or kernel on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir import record
from perfc.view.report.formats.trace import named, written
from perfc.view.report.units import plural

from ..facts import UNKNOWN_NS, DeviceTrace
from ..summary import TraceSummary
from ..timeline import HostKind, HostLabel

if TYPE_CHECKING:
    from ..views import TracedKernel, TracedRun

MOST_SPANS = 500_000
"""Maximum launches that are drawn, and maximum events of the host of each kind."""
MOST_LANES = 128
"""Maximum lanes that are drawn, those with the most spans."""
MOST_LEVELS = 12
"""Maximum lines of a lane for spans that overlap; deeper spans share the last one."""
FRAMES = HostKind.RANGE, HostKind.MODULE
"""Kinds of host labels that are drawn as frames around operators."""
Span = tuple[int, int, int, int]
"""Begin, duration, what it is, and the time since its launch, which is -1 if not recorded."""


class LaneKind(Enum):
    """Kinds of lanes by what their spans are: a step, an operator or a kernel by number."""

    STEPS = "steps"
    HOST = "host"
    LAUNCHES = "launches"
    DEVICE = "device"


@record
class Lane:
    """Spans in order of their begin.

    Args:
        kind: kind of the spans.
        group: process of the host, or device.
        title: title within the group.
        which: number of the step, operator or kernel of each.
        start_ns: begin, counted from the begin of the first span of the time line.
        duration_ns: duration.
        wait_ns: time since the launch began; -1 if not recorded.
        level: line within the lane; spans of one line do not overlap.
    """

    kind: LaneKind
    group: str
    title: str
    which: tuple[int, ...]
    start_ns: tuple[int, ...]
    duration_ns: tuple[int, ...]
    wait_ns: tuple[int, ...]
    level: tuple[int, ...]


@record
class TimeLanes:
    """Time line of a trace.

    Args:
        lanes: host above devices.
        operators: operators of the host with their shapes, frames with their kind, by number.
        begin_ns: begin of the first launch, or of the first kernel.
        end_ns: end of the last kernel.
        notes: sentences on what is left out.
    """

    lanes: tuple[Lane, ...]
    operators: tuple[tuple[str, str], ...]
    begin_ns: int
    end_ns: int
    notes: tuple[str, ...]


def lanes_of(summary: TraceSummary) -> TimeLanes:
    """Return the time line of a trace; kernels have their number in the summary."""
    trace, rows = summary.trace, summary.trace.launches
    timed = [row for row, start in enumerate(rows.start_ns) if start != UNKNOWN_NS]
    shown = sorted(timed, key=rows.start_ns.__getitem__)[:MOST_SPANS]
    hosts = (rows.host_ns[row] for row in shown if rows.host_ns[row] != UNKNOWN_NS)
    begin = min((*hosts, *(rows.start_ns[row] for row in shown[:1])), default=0)
    # without a kernel all operators of the host are within the time
    end = max((rows.start_ns[row] + rows.duration_ns[row] for row in shown), default=1 << 62)
    operators: dict[tuple[str, str], int] = {}
    notes: list[str] = []
    spans = {
        **marked(trace, begin, end),
        **called(trace, begin, end, operators, notes),
        **executed(summary, shown),
    }
    drawn = dict(sorted(spans.items(), key=lambda s: -len(s[1]))[:MOST_LANES])
    # begin of the first span, and end of the last
    first = min((s[0] for each in drawn.values() for s in each), default=0)
    last = max((s[0] + s[1] for each in drawn.values() for s in each), default=0)
    lanes = tuple(lane(key, each, first) for key, each in spans.items() if key in drawn)
    if len(shown) < len(timed):
        every = plural(len(timed), "launch", "launches")
        notes.append(f"the time line has the first {len(shown):,} of {every}")
    if len(drawn) < len(spans):
        notes.append(f"the time line has {len(drawn)} of {len(spans)} threads and streams")
    end = min(end, last)
    return TimeLanes(lanes, tuple(operators), max(begin - first, 0), end - first, tuple(notes))


LaneKey = tuple[LaneKind, str, str]
"""Kind, group and title of a lane."""


def marked(trace: DeviceTrace, begin_ns: int, end_ns: int) -> dict[LaneKey, list[Span]]:
    """Return the steps that the profiler marked on the host, or on the device without them."""
    steps: list[list[Span]] = [[], []]
    for group, number, begin, end, is_device in trace.annotations:
        if group == 0 and begin < end_ns and end > begin_ns:
            steps[is_device].append((begin, end - begin, number, -1))
    spans = steps[0] or steps[1]
    return {(LaneKind.STEPS, "host", "steps"): spans} if spans else {}


def called(
    trace: DeviceTrace,
    begin_ns: int,
    end_ns: int,
    names: dict[tuple[str, str], int],
    notes: list[str],
) -> dict[LaneKey, list[Span]]:
    """Return operators and frames of each thread of the host within a time.

    Args:
        trace: the trace.
        begin_ns: begin of the time.
        end_ns: its end.
        names: receives the numbers of names with their shapes or kinds.
        notes: receives sentences on what is left out.
    """
    host, lanes = trace.host, dict[tuple[int, str], list[Span]]()
    if host is None:
        return {}
    import numpy as np

    labels = [x for x in host.labels.numbers if isinstance(x, HostLabel)]
    frames = [(x.name, x.kind.value) if x.kind in FRAMES else None for x in labels]
    operators = [(call.operator, call.shapes) for call in trace.calls]
    for events, labels_of, title in (
        (host.frames, frames, "modules, ranges"),
        (host.operators, operators, "operators"),
    ):
        # thread, begin, end and number of the label or call
        columns = [np.array(c, dtype=np.int64) for c in events.columns[:4]]
        (inside,) = np.nonzero((columns[1] < end_ns) & (columns[2] > begin_ns))
        if len(inside) > MOST_SPANS:
            notes.append(f"the time line has the {MOST_SPANS:,} longest of {len(inside):,} {title}")
            # by negative duration: the longest first
            longest = np.argsort((columns[1] - columns[2])[inside], kind="stable")
            inside = np.sort(inside[longest[:MOST_SPANS]])
        for thread, begin, end, number in zip(*(c[inside].tolist() for c in columns), strict=True):
            if (name := labels_of[number]) is not None:
                span = begin, end - begin, names.setdefault(name, len(names)), -1
                lanes.setdefault((thread, title), []).append(span)
    # modules stand above the operators of their thread
    return {
        (LaneKind.HOST, "host", f"{title} of thread {thread + 1}"): lanes[thread, title]
        for thread, title in sorted(lanes)
    }


def executed(summary: TraceSummary, shown: Iterable[int]) -> dict[LaneKey, list[Span]]:
    """Return the launches on the host, and the kernels of each stream."""
    trace, rows = summary.trace, summary.trace.launches
    # places of kernels in the summary by name and operator, and by the numbers of launches
    places = {(k.kernel, k.call): at for at, k in enumerate(summary.kernels)}
    names, calls, devices = trace.kernels, trace.calls, [*map(str, trace.devices.numbers)]
    numbers: dict[tuple[int, int], int] = {}
    launches: dict[int, Span] = {}
    streams: dict[tuple[int, int], list[Span]] = {}
    for row in shown:
        kernel, call = pair = rows.kernel[row], rows.call[row]
        if pair not in numbers:
            numbers[pair] = places[names[kernel], calls[call] if call >= 0 else None]
        which, start, host, at = (
            numbers[pair],
            rows.start_ns[row],
            rows.host_ns[row],
            rows.launch[row],
        )
        wait = -1 if host == UNKNOWN_NS else max(start - host, 0)
        spans = streams.setdefault((rows.device[row], rows.stream[row]), [])
        spans.append((start, rows.duration_ns[row], which, wait))
        if host != UNKNOWN_NS:
            ends = trace.host.calls.columns[3] if trace.host else ()
            length = max(ends[at] - host, 0) if 0 <= at < len(ends) else 0
            # the launch of a graph is that of its first kernel; a kernel without a launch has a key
            # that no row has
            launches.setdefault(at if at >= 0 else -2 - row, (host, length, which, -1))
    result: dict[LaneKey, list[Span]] = {}
    if launches:
        result[LaneKind.LAUNCHES, "host", "launches"] = [*launches.values()]
    for device, stream in sorted(streams):
        # the number of a device may be a long text in a damaged trace
        group = f"device {printable(devices[device])[:100]}"
        title = f"stream {stream}" if stream >= 0 else "kernels"
        result[LaneKind.DEVICE, group, title] = streams[device, stream]
    return result


def lane(key: LaneKey, spans: list[Span], first_ns: int) -> Lane:
    """Return spans in order of their begin, each on the first line that is free."""
    spans.sort(key=lambda s: (s[0], -s[1]))
    start, length, which, wait = zip(*spans, strict=True)
    free: list[int] = []  # time from which each line is free
    levels: list[int] = []
    for begin, duration in zip(start, length, strict=True):
        level = next((at for at, end in enumerate(free) if end <= begin), len(free))
        if level == len(free) < MOST_LEVELS:
            free.append(0)
        level = min(level, MOST_LEVELS - 1)
        free[level] = max(free[level], begin + duration)
        levels.append(level)
    starts = tuple(s - first_ns for s in start)
    return Lane(*key, which, starts, length, wait, tuple(levels))


def to_perfetto(view: TracedRun, line: TimeLanes) -> str:
    """Return a Chrome trace of the time line, from 0, with classes and lower bounds."""
    title = printable(Path(view.path).name)
    return written(f"trace: {title}", [*tracks(line), *slices(view, line)])


def numbered(line: TimeLanes) -> Iterator[tuple[int, int, Lane, Sequence[int]]]:
    """Yield the lanes with process and first track, and the place of each span in its tracks."""
    groups: dict[str, int] = {}
    for at, each in enumerate(line.lanes):
        # Perfetto draws a slice below the slice of its track that it lies in, so that nested
        # operators need one track; kernels need one for each level
        places = nested(each) if each.kind is LaneKind.HOST else each.level
        # each lane has numbers for as many tracks as it may have
        yield groups.setdefault(each.group, len(groups) + 1), 1 + at * MOST_LEVELS, each, places


def nested(each: Lane) -> list[int]:
    """Return, for each span, the first track of whose open spans it overlaps none partially."""
    tracks: list[list[int]] = [[]]
    places: list[int] = []
    for begin, length in zip(each.start_ns, each.duration_ns, strict=True):
        for ends in tracks:
            while ends and ends[-1] <= begin:
                ends.pop()
        free = (at for at, ends in enumerate(tracks) if not ends or begin + length <= ends[-1])
        place = next(free, min(len(tracks), MOST_LEVELS - 1))
        if place == len(tracks):
            tracks.append([])
        tracks[place].append(begin + length)
        places.append(place)
    return places


def tracks(line: TimeLanes) -> Iterator[dict[str, object]]:
    """Yield the names of processes and tracks."""
    groups = {each.group: process for process, _, each, _ in numbered(line)}
    for group, process in groups.items():
        yield from named(process, group)
    for process, track, each, places in numbered(line):
        for place in range(1 + max(places)):
            words = f"{each.title} ({place + 1})" if place else each.title
            yield from named(process, words, track + place)


def slices(view: TracedRun, line: TimeLanes) -> Iterator[dict[str, object]]:
    """Yield a slice per span, with what is known of its kernel or operator."""
    names: dict[LaneKind, list[tuple[str, str, dict[str, object]]]] = {
        LaneKind.HOST: [
            (name, "operator", {"detail": detail} if detail else {})
            for name, detail in line.operators
        ],
        LaneKind.LAUNCHES: [(f"launch of {k.kernel}", "launch", {}) for k in view.kernels],
        LaneKind.DEVICE: [(k.kernel, k.class_name, facts(k)) for k in view.kernels],
    }
    for process, track, each, places in numbered(line):
        columns = each.which, each.start_ns, each.duration_ns, each.wait_ns, places
        for which, start, length, wait, place in zip(*columns, strict=True):
            name, category, args = (
                (f"step {which}", "step", {})
                if each.kind is LaneKind.STEPS
                else names[each.kind][which]
            )
            yield {
                "ph": "X",
                "pid": process,
                "name": printable(name),
                "cat": category,
                "tid": track + place,
                "ts": start / 1000,  # µs
                "dur": length / 1000,
                "args": {**args, "since_launch_s": wait * 1e-9} if wait >= 0 else args,
            }


def facts(k: TracedKernel) -> dict[str, object]:
    """Return what is known of a kernel; amounts are those of one execution of its operator."""
    floor_s = None if k.floor_s is None else k.floor_s / k.executions
    words = {"class": k.class_name, "operator": k.operator, "shapes": k.shapes, "limit": k.limit}
    texts = {name: printable(word) for name, word in words.items() if word}
    amounts = {"flop": k.flop, "bytes": k.bytes, "floor_s": floor_s, "floor_share": k.floor_share}
    return {**texts, **{name: value for name, value in amounts.items() if value is not None}}
