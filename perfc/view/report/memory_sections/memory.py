"""Live bytes during the run, and the largest storages at the peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir import Env, TensorType, record
from perfc.passes.memory.liveness import LivenessTable
from perfc.passes.memory.storage import liveness_of

from ..amounts import amount
from ..formats.document import Amount, Bars, Column, Note, Section, in_bytes, tabulate
from ..units import Unit
from .device_memory import DeviceMemory, parts_of

if TYPE_CHECKING:
    from perfc.api import Report

MOST = 5
"""Maximum number of storages listed at the peak."""


@record
class LiveValue:
    """A storage that is live at the peak.

    Args:
        name: name of the value that owns it.
        type: element type and shape.
        nbytes: size.
        shared_by: number of values in it, including views and in-place results.
    """

    name: str
    type: str
    nbytes: Amount
    shared_by: int


@record
class Memory:
    """Activation memory over the nodes of the main graph.

    Args:
        live_bytes: live bytes while each node runs, without weights and values inside a kernel.
        nodes: names of the nodes.
        peak_step: index of the node at the peak, from 0; None if nothing runs.
        peak_bytes: live bytes at the peak.
        weight_bytes: stored tensors, always resident.
        at_peak: largest storages at the peak.
        device: device memory under the allocator of the runtime; null if not requested.
    """

    live_bytes: tuple[float, ...]
    nodes: tuple[str, ...]
    peak_step: int | None
    peak_bytes: Amount
    weight_bytes: Amount
    at_peak: tuple[LiveValue, ...]
    device: DeviceMemory | None = None


def needed(report: Report) -> LivenessTable:
    """Return the live bytes of the values that kernels exchange."""
    return liveness_of(report.module.graph, report.kernels.kernels)


def collect(report: Report, *, has_device: bool = False) -> Memory:
    """Collect the memory of ``report``.

    Args:
        report: the analyzed run.
        has_device: also replay the run on the allocator of the device.
    """
    table, env = needed(report), report.env
    line = table.timeline(env)
    step = max(range(len(line)), key=line.__getitem__) if line else None
    return Memory(
        tuple(line),
        tuple(n.name for n in table.steps),
        step,
        peak_bytes=Amount(0, Unit.BYTE, 0, table.is_bound)
        if step is None
        else amount(table.live[step], env, Unit.BYTE, is_bound=table.is_bound),
        weight_bytes=amount(
            report.weight_bytes, env, Unit.BYTE, is_bound=report.has_unsized_weights
        ),
        at_peak=() if step is None else alive(table, step, env),
        device=DeviceMemory.of(report) if has_device else None,
    )


def alive(table: LivenessTable, step: int, env: Env) -> tuple[LiveValue, ...]:
    """Return the largest storages that are live at ``step``."""
    born = {v: i for i, n in enumerate(table.steps) for v in n.results}
    live: list[LiveValue] = []
    for owner, values in table.by_owner.items():
        end = max((table.last_use.get(v, -1) for v in values), default=-1)
        start = born.get(owner, -1)  # inputs live from the beginning
        # a value that nothing reads lives while its node runs
        if start <= step <= max(end, start) and isinstance(owner.type, TensorType):
            size = owner.type.nbytes
            nbytes = in_bytes(None) if size is None else amount(size, env, Unit.BYTE)
            live.append(LiveValue(owner.name, str(owner.type), nbytes, len(values)))
    return tuple(sorted(live, key=lambda v: (-(v.nbytes.value or 0), v.name))[:MOST])


def section(view: Memory) -> Section:
    """Return the section of memory: bars, the peak, and the storages at the peak."""
    if view.peak_step is None:
        return Section("memory", "memory", (Note("no node executes"),))
    caption = (
        f"peak activations {view.peak_bytes} at node {view.peak_step} of {len(view.nodes)}, "
        f"{view.nodes[view.peak_step]}; "
        f"plus weights {view.weight_bytes}"
    )
    columns = (
        Column("nbytes", "at peak"),
        Column("shared_by", "values", Unit.COUNT),
        Column("name", "value", is_name=True),
        Column("type", is_name=True),
    )
    bars = Bars(view.live_bytes, Unit.BYTE, caption)
    device = () if view.device is None else tuple(parts_of(view.device))
    return Section("memory", "memory", (bars, tabulate(columns, view.at_peak), *device))
