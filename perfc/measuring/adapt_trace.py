"""Measured kernels from the trace of a profiler, for `perfc adapt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfc.analyzers.intervals.adapt import AdaptError
from perfc.errors import ParseError
from perfc.machine import Machine
from perfc.measuring.trace.floors import target_of
from perfc.measuring.trace.formats import format_of, read_trace
from perfc.measuring.trace.summary import summarized

if TYPE_CHECKING:
    from perfc.analyzers.features.lowering import Lowered


def is_trace(path: Path) -> bool:
    """Return True for a trace of a known profiler."""
    try:
        return path.is_file() and format_of(str(path)) is not None
    except ParseError:
        return False


def traced_kernels(path: Path, machine: Machine) -> list[tuple[Lowered, float]]:
    """Return the operators of a trace that ran as one launch of a class, with times in s.

    The time of an operator is the mean of its executions. Left out are operators whose kernels use
    TF32, as these times are compared with predictions without it, and operators without a lower
    bound: those of unknown types, or faster than the bound.

    Args:
        path: the trace; its operators have shapes.
        machine: machine to adapt to.

    Raises:
        AdaptError: a trace of another machine, or without such operators.
        ParseError: the trace cannot be read.
    """
    trace = read_trace(path)
    # targets of the devices of the trace by name; a device without a target could be any machine
    targets = {
        facts.name or target.name: target
        for facts in trace.used_devices.values()
        if (target := target_of(facts)) is not None
    }
    if targets and machine.name not in {target.name for target in targets.values()}:
        raise AdaptError(f"a trace of {', '.join(targets)}, not of {machine.name}", where=str(path))
    samples: list[tuple[Lowered, float]] = []
    for kernel in summarized(trace, machine).bounded:
        floor = kernel.floor
        if floor is None or floor.lowered is None or floor.tf32:
            continue
        # operators whose whole time is that of this kernel, which each execution launched once
        if kernel.operator_ns == kernel.time_ns and kernel.launches == kernel.executions:
            samples.append((floor.lowered, kernel.operator_ns / kernel.executions * 1e-9))
    if not samples:
        hint = "record shapes: profile(record_shapes=True)"
        raise AdaptError(
            "no operator with shapes that ran as one kernel", where=str(path), hint=hint
        )
    return samples
