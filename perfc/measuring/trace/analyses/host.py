"""Events of the host over time: the innermost on each thread, and those around a launch.

`HostSegments` is for causes of idle time and the critical path, `stacks` for times by module or
line.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from perfc.errors import ParseError
from perfc.ir import mutable

from ..facts import FEWER, DeviceTrace, Numbering
from ..timeline import HostKind, HostLabel, HostTimeline

MOST_THREADS = 8
"""Maximum threads that are searched for an event, those with the most launches first."""
DEEPEST = 200
"""Maximum events around a launch; those further inside are left out."""
MOST_STACKS = 100_000
"""Maximum different call stacks, which are all in memory."""
BLOCK = 1 << 16
"""Events that are converted to numbers of Python at a time."""
NOTHING = array("q")
"""Column of a thread without events."""
Span = tuple[int, int, int]
"""Thread, begin and end of an event of the host."""


def labeled(
    host: HostTimeline, kinds: Collection[HostKind]
) -> tuple[list[HostLabel], Iterator[list[int]]]:
    """Return the labels, and thread, begin, end and label of events, outer before inner."""
    import numpy as np

    # labels of operators are added to a copy
    labels = Numbering({**host.labels.numbers})
    chosen = np.array(
        [isinstance(x, HostLabel) and x.kind in kinds for x in host.labels.numbers], dtype=bool
    )
    frames = np.array([np.frombuffer(c, np.int64) for c in host.frames.columns])
    calls = np.array([np.frombuffer(host.calls.columns[at], np.int64) for at in (1, 2, 3, 6)])
    # both have rows of thread, begin, end and label: events with a label of these kinds remain
    parts = [part[:, chosen[part[3]]] if part.size else part for part in (frames, calls)]
    if HostKind.OPERATOR in kinds:
        named = [labels.number(HostLabel(HostKind.OPERATOR, c.operator)) for c in host.trace.calls]
        *around, call, _ = (np.frombuffer(c, np.int64) for c in host.operators.columns)
        parts.insert(1, np.array([*around, np.array(named, np.int64)[call]]))
    merged = np.concatenate(parts, axis=1)
    # a stable order: of equal events, frames are around operators, and these around calls
    order = np.lexsort((-merged[2], merged[1], merged[0]))
    # few at a time: numbers of Python take five times the memory
    blocks = (order[at : at + BLOCK] for at in range(0, len(order), BLOCK))
    rows = chain.from_iterable(merged[:, block].T.tolist() for block in blocks)
    return [x for x in labels.numbers if isinstance(x, HostLabel)], rows


def span_of(trace: DeviceTrace, row: int) -> Span | None:
    """Return where the host launched a row; its operator for a trace of the host alone."""
    host, launch = trace.host, trace.launches.launch[row]
    if host is None:
        return None
    if launch >= 0:
        _, thread, begin, end, *_ = host.calls.row(launch)
        return thread, begin, end
    if trace.is_host and trace.launches.execution[row] >= 0:
        thread, begin, end, *_ = host.operators.row(trace.launches.execution[row])
        return thread, begin, end
    return None


@mutable
class HostSegments:
    """Times in which one event is the innermost on its thread.

    Args:
        labels: labels by number.
        threads: begins, ends and labels of the segments of each thread.
        ranking: threads by launches, the one with the most first.
    """

    labels: Sequence[HostLabel]
    threads: dict[int, tuple[array[int], array[int], array[int]]]
    ranking: Sequence[int]

    @classmethod
    def of(cls, trace: DeviceTrace) -> HostSegments:
        """Build the segments of a trace."""
        if trace.host is None:
            return cls((), {}, ())
        labels, events = labeled(trace.host, frozenset(HostKind))
        launching = Counter(trace.host.calls.columns[1])
        result = cls(labels, {}, [thread for thread, _ in launching.most_common()])
        stack: list[tuple[int, int]] = []  # end and label of open events
        last = cursor = -1
        for thread, begin, end, label in events:
            if thread != last:
                # the last thread is over: close what is open on it
                result.pop(last, stack, cursor, None)
                last, cursor = thread, begin
                result.threads[thread] = array("q"), array("q"), array("q")
            cursor = result.pop(thread, stack, cursor, begin)
            # an inner event ends with the outer one at the latest
            end = min(end, stack[-1][0]) if stack else end
            if end > begin:
                stack.append((end, label))
        result.pop(last, stack, cursor, None)
        return result

    def pop(self, thread: int, stack: list[tuple[int, int]], cursor: int, until: int | None) -> int:
        """Append the segments of open events up to a time, and return that time.

        ``cursor`` is the time up to which the thread has segments; without ``until`` all end.
        """
        while stack:
            end, label = stack[-1]
            is_over = until is None or end <= until
            stop = end if until is None else min(end, until)
            if stop > cursor:
                for column, value in zip(self.threads[thread], (cursor, stop, label), strict=True):
                    column.append(value)
                cursor = stop
            if not is_over:
                break
            stack.pop()
        return cursor if until is None else until

    def tile(self, thread: int, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end and label of what fills a time on a thread; label -1 for nothing."""
        begins, ends, labels = self.threads.get(thread, (NOTHING,) * 3)
        at = max(bisect_right(begins, begin) - 1, 0)
        while begin < end:
            while at < len(ends) and ends[at] <= begin:
                at += 1
            if at == len(ends) or begins[at] >= end:
                yield begin, end, -1
                return
            if begins[at] > begin:
                yield begin, begins[at], -1
                begin = begins[at]
            stop = min(ends[at], end)
            yield begin, stop, labels[at]
            begin = stop

    def during(self, thread: int, begin: int, end: int) -> Iterator[tuple[int, HostLabel | None]]:
        """Yield durations and labels that fill a time of the host; None where nothing ran.

        Another thread counts where nothing ran on this one.
        """
        others = [t for t in self.ranking if t != thread][: MOST_THREADS - 1]
        yield from self._during([thread, *others], begin, end)

    def _during(
        self, threads: Sequence[int], begin: int, end: int
    ) -> Iterator[tuple[int, HostLabel | None]]:
        """Fill a time from the first thread, and what it leaves open from the others in turn."""
        for start, stop, label in self.tile(threads[0], begin, end):
            if label >= 0:
                yield stop - start, self.labels[label]
            elif len(threads) > 1:
                yield from self._during(threads[1:], start, stop)
            else:
                yield stop - start, None


def stacks(
    host: HostTimeline, kinds: Collection[HostKind], moments: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, tuple[HostLabel, ...], int]]:
    """Yield the number of each moment, the labels around it, and the begin of the innermost event.

    Moments and events are walked through once, both by thread and time.

    Args:
        host: events.
        kinds: kinds of events that count.
        moments: thread and time of each.

    Raises:
        ParseError: too many different stacks.
    """
    labels, events = labeled(host, kinds)
    stack: list[tuple[int, int, int, int]] = []  # thread, end, label and begin of open events
    event = next(events, None)
    around: tuple[HostLabel, ...] | None = ()  # labels of the stack; None once it changed
    # equal stacks are one object: a trace has many moments and few stacks
    shared: dict[tuple[HostLabel, ...], tuple[HostLabel, ...]] = {}
    for place in sorted(range(len(moments)), key=moments.__getitem__):
        thread, time = moments[place]
        # open the events that began by then, then close those that ended before
        while event is not None and (event[0], event[1]) <= (thread, time):
            its_thread, begin, end, label = event
            while stack and (stack[-1][0] != its_thread or stack[-1][1] <= begin):
                stack.pop()
            if len(stack) < DEEPEST:
                stack.append((its_thread, min(end, stack[-1][1]) if stack else end, label, begin))
            event, around = next(events, None), None
        while stack and (stack[-1][0] != thread or stack[-1][1] < time):
            stack.pop()
            around = None
        if around is None:
            labels_around = tuple(labels[label] for _, _, label, _ in stack)
            around = shared.setdefault(labels_around, labels_around)
            if len(shared) > MOST_STACKS:
                raise ParseError(f"more than {MOST_STACKS:,} different call stacks", hint=FEWER)
        yield place, around, stack[-1][3] if stack else -1
