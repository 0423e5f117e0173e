"""Time line of a trace: marked steps, operators and launches of the host, kernels by stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir.record import record
from perfc.view.report.formats.trace import named, written
from perfc.view.report.units import plural

from ..facts import UNKNOWN_NS, DeviceTrace
from ..summary import TraceSummary

if TYPE_CHECKING:
    from ..output import TracedKernelView, TraceView

MOST_SPANS = 500_000
"""Launches and operators that are drawn at most."""
MOST_LANES = 128
MOST_LEVELS = 12
"""Lines of spans that overlap in a lane; deeper ones share the last."""
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
        start_ns: begin, from that of the first span of the time line.
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
        operators: operators of the host with their shapes, by number.
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
    end = max((rows.start_ns[row] + rows.duration_ns[row] for row in shown), default=1 << 62)
    operators: dict[tuple[str, str], int] = {}
    spans = {
        **marked(trace, begin, end),
        **called(trace, begin, end, operators),
        **executed(summary, shown),
    }
    kept = dict(sorted(spans.items(), key=lambda s: -len(s[1]))[:MOST_LANES])
    first = min((s[0] for each in kept.values() for s in each), default=0)
    last = max((s[0] + s[1] for each in kept.values() for s in each), default=0)
    lanes = tuple(lane(key, each, first) for key, each in spans.items() if key in kept)
    notes = [
        f"the time line has the first {len(shown):,} of {plural(len(timed), 'launch', 'launches')}"
    ] if len(shown) < len(timed) else []  # fmt: skip
    if len(kept) < len(spans):
        notes.append(f"the time line has {len(kept)} of {len(spans)} threads and streams")
    end = min(end, last)
    return TimeLanes(lanes, tuple(operators), max(begin - first, 0), end - first, tuple(notes))


LaneKey = tuple[LaneKind, str, str]


def marked(trace: DeviceTrace, begin_ns: int, end_ns: int) -> dict[LaneKey, list[Span]]:
    """Return the steps that the profiler marked on the host, or on the device without them."""
    steps: list[list[Span]] = [[], []]
    for group, number, begin, end, is_device in trace.annotations:
        if group == 0 and begin < end_ns and end > begin_ns:
            steps[is_device].append((begin, end - begin, number, -1))
    spans = steps[0] or steps[1]
    return {(LaneKind.STEPS, "host", "steps"): spans} if spans else {}


def called(
    trace: DeviceTrace, begin_ns: int, end_ns: int, operators: dict[tuple[str, str], int]
) -> dict[LaneKey, list[Span]]:
    """Return the operators of each thread of the host within a time, and number their names."""
    if trace.host is None or not len(trace.host.operators):
        return {}
    import numpy as np

    columns = [np.array(c, dtype=np.int64) for c in trace.host.operators.columns[:4]]
    _, begins, ends, _ = columns
    (inside,) = np.nonzero((begins < end_ns) & (ends > begin_ns))
    if len(inside) > MOST_SPANS:
        longest = np.argsort(begins[inside] - ends[inside], kind="stable")
        inside = np.sort(inside[longest[:MOST_SPANS]])
    calls, numbers = trace.calls, dict[int, int]()
    made: dict[LaneKey, list[Span]] = {}
    for thread, begin, end, call in zip(*(c[inside].tolist() for c in columns), strict=True):
        if call not in numbers:
            name = calls[call].operator, calls[call].shapes
            numbers[call] = operators.setdefault(name, len(operators))
        key = LaneKind.HOST, "host", f"operators of thread {thread + 1}"
        made.setdefault(key, []).append((begin, end - begin, numbers[call], -1))
    return made


def executed(summary: TraceSummary, shown: Iterable[int]) -> dict[LaneKey, list[Span]]:
    """Return the launches on the host, and the kernels of each stream."""
    trace, rows = summary.trace, summary.trace.launches
    places = {(k.kernel, k.call): at for at, k in enumerate(summary.kernels)}
    names, calls, devices = trace.kernels, trace.calls, [*map(str, trace.devices.numbers)]
    known: dict[tuple[int, int], int] = {}
    launches: dict[int, Span] = {}
    streams: dict[tuple[int, int], list[Span]] = {}
    for row in shown:
        pair = rows.kernel[row], rows.call[row]
        if pair not in known:
            known[pair] = places[names[pair[0]], calls[pair[1]] if pair[1] >= 0 else None]
        which, start, host, at = (
            known[pair],
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
            # the launch of a graph is that of its first kernel
            launches.setdefault(at if at >= 0 else -2 - row, (host, length, which, -1))
    made: dict[LaneKey, list[Span]] = {}
    if launches:
        made[LaneKind.LAUNCHES, "host", "launches"] = [*launches.values()]
    for device, stream in sorted(streams):
        group = f"device {printable(devices[device])[:100]}"
        title = f"stream {stream}" if stream >= 0 else "kernels"
        made[LaneKind.DEVICE, group, title] = streams[device, stream]
    return made


def lane(key: LaneKey, spans: list[Span], first_ns: int) -> Lane:
    """Return spans in order of their begin, each on the first line that is free."""
    spans.sort(key=lambda s: (s[0], -s[1]))
    start, length, which, wait = zip(*spans, strict=True)
    free: list[int] = []
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


def to_perfetto(view: TraceView, line: TimeLanes) -> str:
    """Return a Chrome trace of the time line, from 0, with classes and lower bounds."""
    title = printable(Path(view.path).name)
    return written(f"trace: {title}", [*tracks(line), *slices(view, line)])


def numbered(line: TimeLanes) -> Iterator[tuple[int, int, Lane]]:
    """Yield the lanes with the numbers of their process and first track.

    A lane of kernels has a track for each level, because slices of one track must nest.
    """
    groups: dict[str, int] = {}
    for at, each in enumerate(line.lanes):
        yield groups.setdefault(each.group, len(groups) + 1), 1 + at * MOST_LEVELS, each


def tracks(line: TimeLanes) -> Iterator[dict[str, object]]:
    """Yield the names of processes and tracks."""
    groups = {each.group: process for process, _, each in numbered(line)}
    for group, process in groups.items():
        yield from named(process, group)
    for process, track, each in numbered(line):
        for level in range(1 if each.kind is LaneKind.HOST else 1 + max(each.level)):
            words = f"{each.title} ({level + 1})" if level else each.title
            yield from named(process, words, track + level)


def slices(view: TraceView, line: TimeLanes) -> Iterator[dict[str, object]]:
    """Yield a slice per span, with what is known of its kernel or operator."""
    names: dict[LaneKind, list[tuple[str, str, dict[str, object]]]] = {
        LaneKind.HOST: [
            (name, "operator", {"shapes": shapes} if shapes else {})
            for name, shapes in line.operators
        ],
        LaneKind.LAUNCHES: [(f"launch of {k.kernel}", "launch", {}) for k in view.kernels],
        LaneKind.DEVICE: [(k.kernel, k.class_name, facts(k)) for k in view.kernels],
    }
    for process, track, each in numbered(line):
        columns = each.which, each.start_ns, each.duration_ns, each.wait_ns, each.level
        for which, start, length, wait, level in zip(*columns, strict=True):
            name, category, args = (
                (f"step {which}", "step", {})
                if each.kind is LaneKind.STEPS
                else names[each.kind][which]
            )
            yield {
                "ph": "X", "pid": process, "name": printable(name), "cat": category,
                "tid": track + (0 if each.kind is LaneKind.HOST else level),
                "ts": start / 1000, "dur": length / 1000,
                "args": {**args, "since_launch_s": wait * 1e-9} if wait >= 0 else args,
            }  # fmt: skip


def facts(k: TracedKernelView) -> dict[str, object]:
    """Return what is known of a kernel; amounts are those of one execution of its operator."""
    floor_s = None if k.floor_s is None else k.floor_s / k.executions
    words = {"class": k.class_name, "operator": k.operator, "shapes": k.shapes, "limit": k.limit}
    made = {name: printable(word) for name, word in words.items() if word}
    amounts = {"flop": k.flop, "bytes": k.bytes, "floor_s": floor_s, "floor_share": k.floor_share}
    return {**made, **{name: value for name, value in amounts.items() if value is not None}}
