"""Critical path of a trace: what the end of its last kernel waited for, back to its first launch.

A kernel begins when the host has launched it and the kernels before it have ended; the later of the
two is on the path. The host goes on when what it synchronizes with has ended.
Source: critical path analysis of Holistic Trace Analysis, hta.readthedocs.io.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import field

from perfc.ir import mutable

from ..classes import TracedClass
from ..facts import UNKNOWN_NS, DeviceTrace
from ..steps import TRANSFERS
from ..summary import TraceSummary
from ..timeline import ROUNDING_NS
from .host import HostSegments, span_of
from .idle import (
    KERNELS,
    SYNCHRONIZATION,
    Cause,
    CauseSum,
    CauseTime,
    classes_of,
    latency_of,
    waiting_cause,
)

WAIT = re.compile(r"StreamWaitEvent")
"""Calls that let one stream wait for another: ``cudaStreamWaitEvent``, ``hipStreamWaitEvent``."""
MOST_EARLIER = 64
"""Maximum kernels that ended before another and are searched, the last first, for the one that it
waited for."""


@mutable
class PathWalk:
    """Walk from the end of a trace to its begin.

    Args:
        trace: launches.
        names: names of kernels by number.
        classes: class of each launch.
        segments: what the host did.
        first_ns: begin of the path.
        latency_ns: least time from the begin of a launch to the begin of its kernel.
        made: times on the path.
        previous: kernel before each on its stream; -1 without one.
        ended: ends and rows of the kernels of each device, in order.
        waits: begins of calls that make a stream wait for another.
        returns: end, thread, begin, call and kernel of calls that waited for the device, in order.
    """

    trace: DeviceTrace
    names: Sequence[str]
    classes: Sequence[TracedClass]
    segments: HostSegments
    first_ns: int = 0
    latency_ns: int = 0
    made: CauseSum = field(default_factory=CauseSum)
    previous: dict[int, int] = field(default_factory=dict)
    ended: list[list[tuple[int, int]]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    returns: list[tuple[int, int, int, str, int]] = field(default_factory=list)

    def prepare(self) -> None:
        """Connect kernels and calls with the kernels that they may have waited for."""
        rows = self.trace.launches
        times = zip(rows.host_ns, rows.start_ns, strict=True)
        launched = [(host, start) for host, start in times if host != UNKNOWN_NS]
        self.first_ns = min([*rows.start_ns, *(host for host, _ in launched)])
        self.latency_ns = min((max(start - host, 0) for host, start in launched), default=0)
        for order in self.trace.by_device():
            last: dict[int, int] = {}  # last kernel of each stream so far
            for row in order:
                self.previous[row] = last.get(rows.stream[row], -1)
                last[rows.stream[row]] = row
            self.ended.append(sorted((self.end(row), row) for row in order))
        if self.trace.host is not None:
            # a call may wait for its copy even if its name does not say so
            copies = {rows.launch[row]: row for row in range(len(rows)) if self.is_copy(row)}
            for at, (_, thread, begin, end, _, _, label) in enumerate(self.trace.host.calls):
                name = self.segments.labels[label].name
                if WAIT.search(name):
                    self.waits.append(begin)
                row = copies.get(at, -1)
                if SYNCHRONIZATION.search(name):
                    row = self.waited(begin, end)
                # the call ends just after what it waits for, else it did not wait for that
                if begin < end and row >= 0 and begin < self.end(row) <= end + ROUNDING_NS:
                    self.returns.append((end, thread, begin, name, row))
        self.waits.sort()
        self.returns.sort()

    def end(self, row: int) -> int:
        """Return the end of a kernel."""
        return self.trace.launches.start_ns[row] + self.trace.launches.duration_ns[row]

    def is_copy(self, row: int) -> bool:
        """Return True for a copy or fill."""
        return self.names[self.trace.launches.kernel[row]].startswith(TRANSFERS)

    def waited(self, begin: int, end: int) -> int:
        """Return the last kernel that ended during a call and was launched before; else -1."""
        hosts = self.trace.launches.host_ns
        last = (-1, -1)  # end and row
        for ended in self.ended:
            # of pairs of end and row; 1 << 62 is beyond every row
            at = bisect_right(ended, (end + ROUNDING_NS, 1 << 62))
            earlier = reversed(ended[max(at - MOST_EARLIER, 0) : at])
            last = max(last, next(((e, row) for e, row in earlier if hosts[row] <= begin), last))
        last_ns, row = last
        return row if last_ns > begin else -1

    def walk(self) -> None:
        """Go from the end of the last kernel to the begin."""
        time, row = max(ends[-1] for ends in self.ended if ends)
        while row >= 0 and time > self.first_ns:
            time, row = self.before_kernel(row, time)
        self.made.add(Cause.UNKNOWN, "", time - self.first_ns)

    def before_kernel(self, row: int, time: int) -> tuple[int, int]:
        """Add a kernel that ran until a time; return the time and kernel before it."""
        rows = self.trace.launches
        start, host = min(rows.start_ns[row], time), rows.host_ns[row]
        cause = Cause.COPY if self.is_copy(row) else Cause.KERNEL
        is_communication = self.classes[row] is TracedClass.COMMUNICATION
        cause = Cause.COMMUNICATION if is_communication else cause
        self.made.add(cause, self.names[rows.kernel[row]], time - start)
        other = self.dependency(row)
        # the kernel before is on the path if it ended after the launch could have taken effect,
        # that is after the least latency; otherwise the host is
        if host == UNKNOWN_NS or (other >= 0 and self.end(other) >= host + self.latency_ns):
            if other < 0:
                return start, -1
            ended = min(self.end(other), start)
            waits = waiting_cause(rows, self.classes, other, row)
            waits = Cause.UNKNOWN if host == UNKNOWN_NS else waits
            name = self.names[rows.kernel[other]] if waits.value in KERNELS else ""
            self.made.add(waits, name, start - ended)
            return ended, other
        begun = min(host, start)
        self.made.add(*latency_of(self.trace, self.segments, row), start - begun)
        span = span_of(self.trace, row)
        return self.before_launch(-1 if span is None else span[0], begun)

    def dependency(self, row: int) -> int:
        """Return the last to end of the kernels that a kernel had to wait for; -1 without one."""
        rows = self.trace.launches
        start, host, before = rows.start_ns[row], rows.host_ns[row], self.previous[row]
        # a kernel waits for the one before it on its stream, and for no other, unless a call after
        # the launch of that one made the stream wait for another stream
        since = rows.host_ns[before] if before >= 0 else UNKNOWN_NS
        at = bisect_left(self.waits, host) - 1
        # the first kernel of a stream without a recorded launch may have waited for any kernel
        is_unknown = before < 0 and host == UNKNOWN_NS
        if not is_unknown and (at < 0 or self.waits[at] <= since):
            return before
        latest = host if is_unknown else self.waits[at]
        ended = self.ended[rows.device[row]]
        at = bisect_right(ended, (start, -1))
        for end, other in reversed(ended[max(at - MOST_EARLIER, 0) : at]):
            if before >= 0 and end <= self.end(before):
                return before
            if is_unknown or (
                rows.host_ns[other] < latest and rows.stream[other] != rows.stream[row]
            ):
                return other
        return before

    def before_launch(self, thread: int, time: int) -> tuple[int, int]:
        """Add the host until a launch; return the time and kernel that it waited for."""
        while self.returns:
            end, its_thread, begin, name, row = self.returns[-1]
            if end <= self.first_ns:
                break
            # each is on the path once at most
            self.returns.pop()
            if end > time:
                continue
            # on this thread, or on another one while this one did nothing (label -1)
            if its_thread == thread or next(self.segments.tile(thread, begin, end))[2] < 0:
                self.made.host(self.segments, thread, end, time)
                ended = max(min(self.end(row), end), self.first_ns)
                self.made.add(Cause.SYNCHRONIZATION, name, end - ended)
                return ended, row
        self.made.host(self.segments, thread, self.first_ns, time)
        return self.first_ns, -1


def critical_path(summary: TraceSummary) -> tuple[CauseTime, ...]:
    """Return what lies on the critical path; the times add up to its span exactly."""
    trace = summary.trace
    walk = PathWalk(trace, trace.kernels, classes_of(summary), HostSegments.of(trace))
    walk.prepare()
    walk.walk()
    return walk.made.causes
