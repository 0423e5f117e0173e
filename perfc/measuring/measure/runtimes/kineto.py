"""PyTorch's profiler: a Chrome trace of operators on the host and kernels on the device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from statistics import median

from perfc.errors import ParseError

from ..process import iqr
from ..profile import Profile, ProfilerKind, RuntimeKernel


def read(path: str | os.PathLike[str]) -> Profile:
    """Read the profile, with medians over equal runs.

    Raises:
        ParseError: no operator ran.
    """
    from ...trace.facts import DeviceTrace, TraceSource
    from ...trace.formats.kineto import ATEN, seen_in

    trace = DeviceTrace(TraceSource.KINETO)
    events = seen_in(os.fspath(path), trace)
    timeline = events.timeline
    timeline.fill()  # adds the kernels to the trace, each with the operator that launched it
    # the columns of `rows` are 0 thread, 1 begin, 2 end, 3 number of the call in `trace.calls`.
    # `outermost` has an index for each operator: that of the outermost operator of ATen around it,
    # or its own if it is the outermost; -1 for an operator outside of ATen with none around it
    rows, outermost = timeline.operators, events.outermost()
    device_ns = [0] * len(rows)
    for execution, time_ns in zip(
        trace.launches.execution, trace.launches.duration_ns, strict=True
    ):
        if 0 <= execution < len(rows) and outermost[execution] >= 0:
            device_ns[outermost[execution]] += time_ns
    threads: dict[int, list[int]] = {}
    for index, outer in enumerate(outermost):
        if index == outer:
            threads.setdefault(rows.columns[0][index], []).append(index)
    if not threads:
        raise ParseError("no operator of PyTorch in it", where=os.fspath(path))
    # the thread with the most operators runs the model
    ran = max(threads.values(), key=len)
    calls = trace.calls
    names = [calls[rows.columns[3][i]].operator.removeprefix(ATEN) for i in ran]
    begins, ends = ([column[i] for i in ran] for column in rows.columns[1:3])
    on_device = any(device_ns[i] for i in ran)
    times = [
        device_ns[i] if on_device else e - b for i, b, e in zip(ran, begins, ends, strict=True)
    ]
    # the profile has no marks of runs: they are the repetitions of the sequence of operators
    length = period(names)
    runs = len(ran) // length
    # the first of several runs warms up
    counted = range(1, runs) if runs > 1 else range(runs)
    kernels: list[RuntimeKernel] = []
    for i in range(length):
        repeats = [times[r * length + i] * 1e-9 for r in counted]
        counts = calls[rows.columns[3][ran[i]]].counts
        times_s = median(repeats), iqr(repeats), min(repeats)
        # the index makes names unique, as one operator occurs many times in a run
        kernels.append(RuntimeKernel(f"{i}:{names[i]}", names[i], *times_s, counts=counts))
    whole = [(ends[(r + 1) * length - 1] - begins[r * length]) * 1e-9 for r in counted]
    # on a device the host runs ahead, so its intervals are not the time of a run
    run_s = None if on_device else median(whole)
    return Profile(
        ProfilerKind.KINETO, tuple(kernels), len(counted), run_s, "cuda" if on_device else "cpu"
    )


def period(names: Sequence[str]) -> int:
    """Return the length of the sequence that repeats; that of the whole list where none does.

    Source: Knuth, Morris & Pratt 1977, failure function.
    """
    n = len(names)
    failure = [0] * n
    k = 0
    for i in range(1, n):
        while k and names[i] != names[k]:
            k = failure[k - 1]
        if names[i] == names[k]:
            k += 1
        failure[i] = k
    # the longest end that is also a beginning leaves the shortest period
    length = n - failure[-1] if n else 0
    return length if length and n % length == 0 else n
