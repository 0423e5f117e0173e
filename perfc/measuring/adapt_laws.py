"""Measured kernels of processors against the laws of their runtimes, for `perfc adapt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.intervals.adapt import PROFILER_S, KernelResidual
from perfc.machine import Machine, split
from perfc.measuring.measure.tables.rows import KernelRow, subject_of
from perfc.passes.runtimes import Framework, tables

LEAST_LEFT = 0.2
"""Share of a measured time that remains at least when the profiler's time is subtracted: of very
short kernels the profiler's mean would leave nothing or less."""


def by_law(rows: Sequence[KernelRow], machine: Machine) -> Iterator[KernelResidual]:
    """Yield residuals against the laws of runtimes on processors; none for other machines."""
    from perfc.analyzers.estimators.laws.processor_laws import named_law, start_on
    from perfc.analyzers.estimators.laws.processor_resources import ProcessorSeconds
    from perfc.machine.slices import sliced

    rows = rows if machine.kind == "cpu" else ()
    counts = {min(row.threads, machine.sm_count) for row in rows}
    # by number of threads: resources of the processor cut down to as many, as ``xeon/4t``
    seconds = {n: ProcessorSeconds(sliced(machine, f"{n}t")) for n in counts}
    for row in rows:
        start = start_on(machine, runtime_of(row))
        if start is None or split(row.target)[0] != machine.name or row.time_s <= 0:
            continue
        subject = subject_of(row)
        # resources of the kernel under each name that a law may have, the most specific first
        names = seconds[min(row.threads, machine.sm_count)].of(subject)
        if pair := named_law(start, subject.dtype, names):
            law, k = pair  # k: resources under the name of that law
            time_s = without_profiler_s(row, row.time_s / row.launches)
            yield KernelResidual(k.name, law.time_s(k), time_s, Predictor.LAW.value, row.model)


def without_profiler_s(row: KernelRow, time_s: float, count: int = 1) -> float:
    """Return the measured time of ``count`` kernels without what the profiler adds to each."""
    # only profilers of runtimes other than PyTorch add this time
    added_s = PROFILER_S * count * (row.runtime != Framework.TORCH.value)
    return max(time_s - added_s, LEAST_LEFT * time_s)


def runtime_of(row: KernelRow) -> str:
    """Return the name of the runtime that ran a kernel, "" if none of perfc's stands for it."""
    device = row.device.partition(":")[0]
    names = (
        t.name for t in tables() if t.framework.value == row.runtime and device in t.stands_for
    )
    return next(names, "")
