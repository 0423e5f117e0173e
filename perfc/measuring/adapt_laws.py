"""Measured kernels of processors against the laws of their runtimes, for `perfc adapt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.intervals.adapt import KernelResidual
from perfc.machine import Machine
from perfc.measuring.measure.tables.rows import KernelRow, subject_of


def by_law(rows: Sequence[KernelRow], machine: Machine) -> Iterator[KernelResidual]:
    """Yield residuals against the laws of runtimes on processors."""
    from perfc.analyzers.estimators.laws.law import laws
    from perfc.analyzers.estimators.laws.processor_laws import FILE, measured_runtimes
    from perfc.analyzers.estimators.laws.processor_resources import ProcessorSeconds

    known, runtimes = laws(FILE), measured_runtimes()
    for row in rows:
        if machine.kind != "cpu" or row.target != machine.name:
            continue
        start, seconds = runtimes.get(runtime_of(row)), ProcessorSeconds(machine, row.threads)
        each = ((known.get(f"{start} {k.name}"), k) for k in seconds.of(subject_of(row)))
        pair = next(((law, k) for law, k in each if law is not None), None)
        if pair is not None and row.time_s > 0:
            law, k = pair
            time_s = row.time_s / row.launches
            yield KernelResidual(k.name, law.time_s(k), time_s, Predictor.LAW.value)


def runtime_of(row: KernelRow) -> str:
    """Return the table of the runtime that ran a kernel, "" if none stands for it."""
    from perfc.passes.runtimes import tables

    device = row.device.partition(":")[0]
    names = (
        t.name for t in tables() if t.framework.value == row.runtime and device in t.stands_for
    )
    return next(names, "")
