"""Steps of a trace: which launches it records whole, and which of them form one step.

Steps are those that the profiler or the program marked; without marks, a sequence of kernels that
fills the trace by repetition. A mark counts for the kernels that the host launched during it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from perfc.errors import ParseError

from ..measure.runtimes.kineto import period
from .facts import UNKNOWN_NS, DeviceTrace, StepTime

LEAST_COVERED = 0.9
"""Minimum share of the kernel time within ranges of a program, for these to be its steps."""
MOST_GROUPS = 20
"""Maximum kinds of ranges that are tried, those of the profiler first, then by their time."""
LEAST_LAUNCHES, LEAST_KERNELS = 8, 3
"""Minimum launches and different kernels of a repeated sequence that is a step; a shorter one may
be a loop within a step."""
TRANSFERS = ("Mem", "CUDA mem", "[CUDA mem")
"""First letters of copies and fills, whose number may differ from step to step."""


def selected(
    trace: DeviceTrace, step: int | None = None, *, is_all: bool = False, has_steps: bool = True
) -> DeviceTrace:
    """Return a trace of one step, without launches from before the trace began.

    Args:
        trace: the trace.
        step: number of the step; the median by kernel time if None.
        is_all: return all launches.
        has_steps: False to look for no steps.

    Raises:
        ParseError: no step has the number.
    """
    durations = trace.launches.duration_ns
    earlier = set(launched_earlier(trace))
    rows = [row for row in range(len(durations)) if row not in earlier]
    steps = steps_of(trace, rows) if has_steps else {}
    times = {n: sum(durations[row] for row in members) for n, members in steps.items()}
    if step is not None and step not in steps:
        what = (
            f"no step {step}: they are {', '.join(map(str, steps))}" if steps else "no steps in it"
        )
        raise ParseError(what)
    if steps and not is_all:
        # of an even number the lower median, which is a step that ran
        ordered = sorted(times, key=times.__getitem__)
        step = ordered[(len(ordered) - 1) // 2] if step is None else step
        rows = steps[step]
    result = trace.with_rows(range(len(durations)) if is_all else rows)
    result.step = None if is_all else step
    result.steps = tuple(StepTime(n, len(steps[n]), times[n]) for n in steps)
    result.earlier = len(earlier), sum(durations[row] for row in earlier)
    result.recorded = len(durations), sum(durations)
    return result


def launched_earlier(trace: DeviceTrace) -> Iterator[int]:
    """Yield the rows without an operator that precede the first recorded launch of their device.

    A profiler that is switched on while the device works records the end of what was launched.
    """
    rows = trace.launches
    for order in trace.by_device():
        first = next((i for i, row in enumerate(order) if rows.host_ns[row] != UNKNOWN_NS), 0)
        yield from (row for row in order[:first] if rows.call[row] < 0)


def steps_of(trace: DeviceTrace, rows: Sequence[int]) -> dict[int, list[int]]:
    """Return the rows of each step by its number; empty without steps."""
    total_ns = sum(trace.launches.duration_ns[row] for row in rows)
    best: dict[int, list[int]] = {}
    best_rank: tuple[float, ...] = ()
    groups: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for group, number, begin, end, is_device in trace.annotations:
        groups.setdefault((group, is_device), []).append((begin, end, number))
    # a range that occurs once marks no steps, unless the profiler calls it one (group 0)
    several = [key for key, ranges in groups.items() if key[0] == 0 or len(ranges) > 1]
    times_ns = {key: sum(end - begin for begin, end, _ in groups[key]) for key in several}
    for group, is_device in sorted(several, key=lambda k: (k[0] > 0, -times_ns[k]))[:MOST_GROUPS]:
        ranges = groups[group, is_device]
        members = within(trace, sorted(ranges), rows, is_device=bool(is_device))
        inside_ns = sum(trace.launches.duration_ns[r] for rs in members.values() for r in rs)
        is_step = group == 0 and inside_ns > 0
        if is_step or (len(members) > 1 and inside_ns >= LEAST_COVERED * total_ns):
            # best are marks of the profiler, then those of the host, more time, fewer steps
            rank = group == 0, not is_device, inside_ns / max(total_ns, 1), -len(members)
            if rank > best_rank:
                best, best_rank = members, rank
    return best or repeated(trace, rows)


def within(
    trace: DeviceTrace,
    ranges: Sequence[tuple[int, int, int]],
    rows: Sequence[int],
    *,
    is_device: bool,
) -> dict[int, list[int]]:
    """Return the rows in each range by its number, or by its place if it has none.

    If any ranges overlap they are no steps, and the result is empty.
    """
    begins = [begin for begin, _, _ in ranges]
    if any(end > begin for (_, end, _), begin in zip(ranges, begins[1:], strict=False)):
        return {}
    times = trace.launches.start_ns if is_device else trace.launches.host_ns
    members: dict[int, list[int]] = {}
    for row in rows:
        at = bisect_right(begins, times[row]) - 1
        if at >= 0 and times[row] < ranges[at][1]:
            members.setdefault(at, []).append(row)
    numbers = {
        at: ranges[at][2] if ranges[at][2] >= 0 else place
        for place, at in enumerate(sorted(members), 1)
    }
    return {numbers[at]: members[at] for at in sorted(members)}


def repeated(trace: DeviceTrace, rows: Sequence[int]) -> dict[int, list[int]]:
    """Return the rows of each repetition of the sequence of kernels that fills a trace."""
    launches, names = trace.launches, trace.kernels
    # kernels of several devices interleave in another order each time
    if len({launches.device[row] for row in rows}) != 1:
        return {}
    order = sorted(rows, key=launches.start_ns.__getitem__)
    moved = {n for n, name in enumerate(names) if name.startswith(TRANSFERS)}
    counted = [at for at, row in enumerate(order) if launches.kernel[row] not in moved]
    sequence = [launches.kernel[order[at]] for at in counted]
    length = period([str(kernel) for kernel in sequence])
    if length < LEAST_LAUNCHES or len(set(sequence)) < LEAST_KERNELS or length == len(sequence):
        return {}
    # a copy or fill before a kernel is of the next step if one operator launched both
    executions = [launches.execution[row] for row in order]
    starts: list[int] = []
    for at in counted[::length]:
        begin = at
        while begin and executions[begin - 1] == executions[at] >= 0:
            begin -= 1
        starts.append(begin)
    starts[0] = 0  # copies before the first step belong to it
    ends = [*starts[1:], len(order)]
    return {n: order[b:e] for n, (b, e) in enumerate(zip(starts, ends, strict=True), 1)}
