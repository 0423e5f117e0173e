"""Measured kernels of processors against the laws of their runtimes, for `perfc adapt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.intervals.adapt import KernelResidual
from perfc.machine import Machine
from perfc.measuring.measure.tables.rows import KernelRow, subject_of


def by_law(rows: Sequence[KernelRow], machine: Machine) -> Iterator[KernelResidual]:
    """Yield residuals against the laws of runtimes on processors."""
    from perfc.analyzers.estimators.laws.processor_laws import named_law, start_on
    from perfc.analyzers.estimators.laws.processor_resources import ProcessorSeconds

    for row in rows if machine.kind == "cpu" else ():
        start = start_on(machine, runtime_of(row))
        if start is None or row.target != machine.name or row.time_s <= 0:
            continue
        subject = subject_of(row)
        names = ProcessorSeconds(machine, row.threads).of(subject)
        if pair := named_law(start, subject.dtype, names):
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
