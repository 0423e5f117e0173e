"""Causes of the idle time of devices, and lengths of the queues of their streams.

`idle_causes` and `queue_lengths` are the breakdown ``idle``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum

from perfc.ir import mutable, record

from ..classes import TracedClass
from ..facts import UNKNOWN_NS, DeviceTrace, LaunchColumns
from ..summary import TraceSummary
from ..timeline import HostKind, HostLabel
from .host import HostSegments, span_of

QUEUE_LIMIT = 1024
"""Launches on a stream that the driver takes before the next one waits.

Source: hta.readthedocs.io, ``get_time_spent_blocked_on_full_queue``."""
SYNCHRONIZATION = re.compile(
    r"Synchronize|Memcpy(?!\w*Async)|(cuda|hip|cu)(Mem)?Free(?!\w*(Async|Host))"
)
"""Calls that wait for the device."""


class Cause(Enum):
    """Reasons for which time passes: work of the host, waits and kernels."""

    OPERATOR = "operators of the host"
    PYTHON = "Python and ranges"
    CALL = "runtime calls"
    SYNCHRONIZATION = "synchronization"
    UNRECORDED = "host, nothing recorded"
    LATENCY = "launch latency"
    QUEUED = "between kernels of a stream"
    STREAM = "waiting for another stream"
    WAITING = "waiting for communication"
    KERNEL = "kernels"
    COPY = "copies"
    COMMUNICATION = "communication"
    UNKNOWN = "launch not recorded"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


KERNELS = frozenset(
    c.value for c in (Cause.KERNEL, Cause.COMMUNICATION, Cause.STREAM, Cause.WAITING)
)
"""Causes whose name is that of a kernel."""


@record
class CauseTime:
    """Time that passed for one reason.

    Args:
        cause: reason.
        name: operator, call, function or kernel; empty without one.
        count: intervals.
        time_s: their time.
        share: of the whole.
    """

    cause: str
    name: str
    count: int
    time_s: float
    share: float


@record
class QueueLength:
    """Launches on one stream that the host had begun and the device had not finished.

    Args:
        device: the tool's number of the device.
        stream: the tool's number of the stream; -1 if not recorded.
        launches: launches with a recorded begin; a graph is one launch.
        mean: mean over the time from the first launch to the last end.
        maximum: maximum.
        empty_share: share of that time without any.
        full_share: share of that time with 1,024 or more, which stop the host.
    """

    device: str
    stream: int
    launches: int
    mean: float
    maximum: int
    empty_share: float
    full_share: float


@mutable
class CauseSum:
    """Nanoseconds and intervals by cause and name."""

    sums: dict[tuple[Cause, str], list[int]] = field(default_factory=dict)

    def add(self, cause: Cause, name: str, time_ns: int) -> None:
        """Add an interval."""
        if time_ns:
            total = self.sums.setdefault((cause, name), [0, 0])
            total[0] += time_ns
            total[1] += 1

    def host(self, segments: HostSegments, thread: int, begin: int, end: int) -> None:
        """Add a time of the host by what ran in it."""
        for time_ns, label in segments.during(thread, begin, end):
            self.add(*cause_of(label), time_ns)

    @property
    def causes(self) -> tuple[CauseTime, ...]:
        """Return the records, the longest first."""
        total_ns = sum(time_ns for time_ns, _ in self.sums.values())
        rows = sorted(self.sums.items(), key=lambda x: (-x[1][0], x[0][0].value, x[0][1]))
        return tuple(
            CauseTime(cause.value, name, count, time_ns * 1e-9, time_ns / total_ns)
            for (cause, name), (time_ns, count) in rows
        )


def cause_of(label: HostLabel | None) -> tuple[Cause, str]:
    """Return the cause that an event of the host is."""
    match label:
        case None:
            return Cause.UNRECORDED, ""
        case HostLabel(HostKind.OPERATOR, name):
            return Cause.OPERATOR, name
        case HostLabel(HostKind.CALL, name):
            waits = SYNCHRONIZATION.search(name)
            return Cause.SYNCHRONIZATION if waits else Cause.CALL, name
        case HostLabel(_, name):
            return Cause.PYTHON, name


def classes_of(summary: TraceSummary) -> Sequence[TracedClass]:
    """Return the class of each launch."""
    trace = summary.trace
    classes = {(k.kernel, k.call): k.class_name for k in summary.kernels}
    names, calls = trace.kernels, trace.calls
    return [
        classes[names[kernel], calls[call] if call >= 0 else None]
        for kernel, call in zip(trace.launches.kernel, trace.launches.call, strict=True)
    ]


def waiting_cause(
    rows: LaunchColumns, classes: Sequence[TracedClass], before: int, row: int
) -> Cause:
    """Return why a kernel that was launched in time began after another had ended."""
    if rows.stream[before] == rows.stream[row]:
        return Cause.QUEUED
    return Cause.WAITING if classes[before] is TracedClass.COMMUNICATION else Cause.STREAM


def idle_causes(summary: TraceSummary) -> tuple[CauseTime, ...]:
    """Return the causes of the idle time of all devices, which add up to it.

    In a gap the device waits for what the host does until it begins the next launch. A launch that
    had begun before the gap waits for another kernel.
    """
    trace, rows = summary.trace, summary.trace.launches
    names, classes, sums = trace.kernels, classes_of(summary), CauseSum()
    segments = HostSegments.of(trace)
    for before, begin, row in gaps_of(trace):
        start, host = rows.start_ns[row], rows.host_ns[row]
        # end of the host's part of the gap: when it began the launch, within the gap
        begun = min(max(host, begin), start)
        span = span_of(trace, row)
        if host == UNKNOWN_NS:
            sums.add(Cause.UNKNOWN, "", start - begin)
        elif span is None:
            sums.add(Cause.UNRECORDED, "", begun - begin)
        else:
            thread, *_ = span
            sums.host(segments, thread, begin, begun)
        if host != UNKNOWN_NS:
            waits = waiting_cause(rows, classes, before, row)
            name = names[rows.kernel[before]] if waits.value in KERNELS else ""
            latency = latency_of(trace, segments, row)
            sums.add(*(latency if host >= begin else (waits, name)), start - begun)
    return sums.causes


def latency_of(trace: DeviceTrace, segments: HostSegments, row: int) -> tuple[Cause, str]:
    """Return the latency of a launch as a cause, with the name of its call."""
    launch = trace.launches.launch[row]
    is_known = trace.host is not None and launch >= 0
    # the last column of `HostTimeline.calls` is the label
    number = trace.host.calls.columns[6][launch] if trace.host and is_known else -1
    return Cause.LATENCY, segments.labels[number].name if number >= 0 else ""


def gaps_of(trace: DeviceTrace) -> Iterator[tuple[int, int, int]]:
    """Yield the last kernel before each gap of a device, the gap's begin and the next kernel."""
    rows = trace.launches
    for order in trace.by_device():
        last, end = -1, UNKNOWN_NS
        for row in order:
            start = rows.start_ns[row]
            if last >= 0 and start > end:
                yield last, end, row
            # streams overlap: the kernel that ends last ends the busy time
            if last < 0 or start + rows.duration_ns[row] >= end:
                last, end = row, start + rows.duration_ns[row]


def queue_lengths(trace: DeviceTrace) -> tuple[QueueLength, ...]:
    """Return the lengths of the queues of all streams with recorded launches."""
    rows, keys = trace.launches, [*trace.used_devices]
    queues: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
    for row, host in enumerate(rows.host_ns):
        if host != UNKNOWN_NS and rows.start_ns[row] != UNKNOWN_NS:
            queue = queues.setdefault((rows.device[row], rows.stream[row]), {})
            # kernels of a graph are one launch; a kernel without a launch is one alone, by a number
            # that no row has
            key = rows.launch[row] if rows.launch[row] >= 0 else -2 - row
            start = rows.start_ns[row]
            begin, end = queue.get(key, (host, start))
            queue[key] = min(begin, start), max(end, start + rows.duration_ns[row])
    return tuple(
        queue_length(str(keys[device]), stream, queue)
        for (device, stream), queue in sorted(queues.items())
    )


def queue_length(device: str, stream: int, queue: Mapping[int, tuple[int, int]]) -> QueueLength:
    """Return the length of a queue over time, from begin and end of its launches."""
    # of equal times, ends (-1) come before begins (1), so that the queue is not longer in between
    changes = sorted([(b, 1) for b, _ in queue.values()] + [(e, -1) for _, e in queue.values()])
    length = longest = area = empty = full = 0
    begin = last = changes[0][0]
    for time, change in changes:
        # integral of the length over time; each change ends an interval of the length before it
        area += length * (time - last)
        empty += (time - last) * (length == 0)
        full += (time - last) * (length >= QUEUE_LIMIT)
        length, last = length + change, time
        longest = max(longest, length)
    span = max(last - begin, 1)
    return QueueLength(
        device,
        stream,
        len(queue),
        mean=area / span,
        maximum=longest,
        empty_share=empty / span,
        full_share=full / span,
    )
