"""Overlap of kernels on several streams, which makes a run shorter than the sum of its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.passes.roofline.streams import Timeline, depends_on, use

from .host import launch_gap

if TYPE_CHECKING:
    from perfc.ir import Module
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.roofline.roofline import RooflineTable

    from ..estimate.estimate import Estimate


def overlap(
    kernels: Sequence[Estimate], bounds: RooflineTable, table: KernelTable, module: Module
) -> float:
    """Return the makespan on the streams of the runtime over that on one stream, at most 1.

    Args:
        kernels: estimates of the kernels.
        bounds: roofline of the same kernels.
        table: the same kernels in their order, with their runtime.
        module: module that they compute, whose values give the dependencies.
    """
    launch_s = launch_gap(bounds.machine, table.runtime.launch).mid
    times = [k.device_s for k in kernels]
    waits = [launch_s * b.launches for b in bounds.kernels]
    uses = [use(b, t, bounds.machine) for b, t in zip(bounds.kernels, times, strict=True)]
    depends = depends_on(table, module.graph)
    # `uses` are the shares of the device that each kernel occupies while it runs
    alone, concurrent = (
        Timeline(depends, times, uses, waits, n).makespan_s for n in (1, table.runtime.streams)
    )
    return min(concurrent / alone, 1.0) if alone else 1.0
