"""Sentences on what a trace lacks, and on the part of it that is summarized."""

from __future__ import annotations

from perfc.view.report.units import Unit, plural, quantity

from .facts import DeviceTrace


def notes_of(trace: DeviceTrace) -> tuple[str, ...]:
    """Return sentences on what a trace lacks, and on the part of it that is summarized."""
    result: list[str] = []
    if trace.is_cut:
        result.append("the file ends in the middle: what follows is missing")
    if trace.unusable:
        counted = plural(trace.unusable, "launch", "launches")
        result.append(f"{counted} without a duration, or with a negative one, left out")
    if trace.is_host:
        result.append("no kernel of a device in it: times of operators on the host")
    if trace.replays > trace.joined:
        counted = plural(trace.replays - trace.joined, "kernel")
        result.append(f"{counted} of graphs without operators and shapes: --capture adds them")
    if trace.earlier[0]:
        # number and time of launches: from before the trace began, and of the whole file
        (before, before_ns), (count, all_ns) = trace.earlier, trace.recorded
        text = f"{before:,} of {plural(count, 'launch', 'launches')} ({time(before_ns)} of "
        text += f"{time(all_ns)}) came before the trace began: {time(all_ns - before_ns)} without"
        # a summary of a part of the file is without the earlier launches
        result.append(text if len(trace.launches) == count else f"{text}, as here")
    if trace.step is not None:
        by_number = {s.number: s.kernel_ns for s in trace.steps}
        text = f"step {trace.step}: {time(by_number[trace.step])} of kernels"
        times = sorted(by_number.values())
        # of an even number the lower median, as in `steps.selected`
        low, middle, high = map(time, (times[0], times[(len(times) - 1) // 2], times[-1]))
        several = f"{len(times)} steps of {low} to {high}, median {middle}"
        # the other launches of the file: neither early nor in a step
        count = trace.recorded[0] - trace.earlier[0] - sum(s.launches for s in trace.steps)
        outside_ns = trace.recorded[1] - trace.earlier[1] - sum(times)
        outside = f"; {plural(count, 'launch', 'launches')} ({time(outside_ns)}) outside of steps"
        text += f"; {several if len(times) > 1 else 'the only step'}"
        result.append(text + (outside if count else ""))
    return tuple(result)


def time(time_ns: int) -> str:
    """Return a time as text."""
    return quantity(time_ns * 1e-9, Unit.SECOND)
