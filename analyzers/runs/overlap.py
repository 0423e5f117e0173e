"""The run where kernels overlap on several streams: shorter than their sum, not below its floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.passes.roofline.streams import depends_on, timeline, use

if TYPE_CHECKING:
    from perfc.ir import Module
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.roofline.roofline import RooflineTable

    from ..estimate.estimate import Estimate, RunEstimate


def overlapped(
    whole: RunEstimate,
    kernels: Sequence[Estimate],
    bounds: RooflineTable,
    table: KernelTable,
    module: Module,
    launch_s: float,
) -> RunEstimate:
    """Return the run with its kernels overlapped on the streams of the runtime.

    All ends of its time scale by the makespan on those streams over that on one, both by
    `timeline`.
    """
    times = [k.time_s - k.wait_s for k in kernels]
    waits = [launch_s * b.launches for b in bounds.kernels]
    uses = [use(b, t, bounds.machine) for b, t in zip(bounds.kernels, times, strict=True)]
    depends = depends_on(table, module.graph)
    alone, concurrent = (
        timeline(depends, times, uses, waits, n).makespan_s for n in (1, table.runtime.streams)
    )
    left = min(concurrent / alone, 1.0) if alone else 1.0
    time = (whole.time * left).at_least(whole.floor_s)
    return replace(whole, time=time, wait_s=whole.wait_s * left)
