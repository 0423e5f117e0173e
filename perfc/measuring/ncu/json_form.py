"""A report of Nsight Compute as JSON: schema ``perfc-ncu/1``.

The classes are the JSON objects, their fields the keys. Rates are operations or bytes per second.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.result import Fields

from .report import KernelCounters
from .standing import KernelStanding


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


def achieved(k: KernelCounters) -> float | None:
    """Return the operations a second, None where none were counted and some are missing."""
    return None if k.is_bound and not k.flop_total else k.flop_total / k.time_s


def work(s: KernelStanding) -> tuple[WorkView, ...]:
    """Return operations by unit and element type."""
    return tuple(WorkView(unit.value, dtype, n) for (unit, dtype), n in s.kernel.flop.items())


def flop_per_s(s: KernelStanding) -> float | None:
    """Return the achieved rate; null where nothing was counted and some is missing."""
    return achieved(s.kernel)


def levels(s: KernelStanding) -> Mapping[str, LevelView]:
    """Return traffic by level of the memory."""
    k = s.kernel
    return {x.value: LevelView(n, k.mark.intensity(x)) for x, n in k.nbytes.items()}


def ceilings(s: KernelStanding) -> tuple[CeilingView, ...]:
    """Return the utilization of each ceiling; empty without a target."""
    return tuple(project(CeilingView, c, ceiling=c.reached) for c in s.ceilings)


COUNTERS = Fields(
    KernelStanding,
    {
        "kernel": "kernel.kernel",
        "phase": "kernel.phase",
        "launches": "kernel.launches",
        "time_s": "kernel.time_s",
        "is_bound": "kernel.is_bound",
        "flop": work,
        "flop_per_s": flop_per_s,
        "levels": levels,
        "ceilings": ceilings,
    },
)
"""Counters of one kernel."""
