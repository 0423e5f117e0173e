"""A report of Nsight Compute as JSON: schema ``perfc-ncu/1``.

The classes are the JSON objects, their fields the keys. Rates are operations or bytes per second.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record
from perfc.ir.record import project

from .report import KernelCounters, NcuReport
from .standing import KernelStanding

SCHEMA = "perfc-ncu/1"
"""Schema of the JSON document."""


@record
class WorkView:
    """Operations of one unit on one element type."""

    unit: str
    dtype: str
    flop: float


@record
class LevelView:
    """Traffic of a memory level.

    Args:
        bytes: bytes of all launches.
        flop_per_byte: intensity there; null where nothing passes.
    """

    bytes: float
    flop_per_byte: float | None


@record
class CeilingView:
    """Utilization of a ceiling by a kernel.

    Args:
        name: name of the unit or level.
        achieved: rate of the kernel.
        ceiling: rate that a measurement reached on the machine; the rated one without any.
        peak: highest rate of the hardware.
        share: achieved over ceiling.
        is_above: whether it is above the peak, so that a number is wrong.
    """

    name: str
    achieved: float
    ceiling: float
    peak: float
    share: float
    is_above: bool


@record
class CountersView:
    """Counters of one kernel.

    Args:
        kernel: its name.
        phase: forward, backward or optimiser; empty if no NVTX range says.
        launches: number of launches.
        time_s: time of all of them.
        is_bound: whether some arithmetic was not counted.
        flop: by unit and element type.
        flop_per_s: achieved rate; null where nothing was counted and some is missing.
        levels: by level of the memory.
        ceilings: utilization of each ceiling; empty without a target.
    """

    kernel: str
    phase: str
    launches: int
    time_s: float
    is_bound: bool
    flop: tuple[WorkView, ...]
    flop_per_s: float | None
    levels: Mapping[str, LevelView]
    ceilings: tuple[CeilingView, ...]

    @classmethod
    def of(cls, s: KernelStanding) -> CountersView:
        """Build the view of one kernel."""
        k, mark = s.kernel, s.kernel.mark
        levels = {x.value: LevelView(n, mark.intensity(x)) for x, n in k.nbytes.items()}
        ceilings = tuple(project(CeilingView, c, ceiling=c.reached) for c in s.ceilings)
        work = tuple(WorkView(unit.value, dtype, n) for (unit, dtype), n in k.flop.items())
        return project(cls, k, flop=work, flop_per_s=achieved(k), levels=levels, ceilings=ceilings)


@record
class DiagnosticView:
    """Error or gap in a report."""

    severity: str
    text: str


@record
class NcuView:
    """A report with the utilization of ceilings by its kernels.

    Args:
        path: path of the report.
        arch: architecture of the device.
        target: name of the machine that it is compared with; empty without one.
        time_s: time of all kernels.
        kernels: the longest first.
        diagnostics: what a reader must know.
    """

    path: str
    arch: str
    target: str
    time_s: float
    kernels: tuple[CountersView, ...]
    diagnostics: tuple[DiagnosticView, ...]

    @classmethod
    def of(
        cls,
        report: NcuReport,
        target: str,
        standings: tuple[KernelStanding, ...],
        diagnostics: tuple[DiagnosticView, ...],
    ) -> NcuView:
        """Build the view of a report."""
        kernels = tuple(map(CountersView.of, standings))
        return cls(report.path, report.arch, target, report.time_s, kernels, diagnostics)


def achieved(k: KernelCounters) -> float | None:
    """Return the operations a second, None where none were counted and some are missing."""
    return None if k.is_bound and not k.flop_total else k.flop_total / k.time_s
