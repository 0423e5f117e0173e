"""Device memory of a run: its parts, allocator overhead, and the time of the peak."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from perfc.ir import Phase, record
from perfc.machine import Machine, SliceProfile, load_machine, partition_of
from perfc.passes.memory.allocators import Allocator, OutOfMemoryError, Replay, replay
from perfc.passes.memory.allocators.by_framework import allocator_of
from perfc.passes.memory.storage import BufferRole, Storages, StorageTable
from perfc.passes.runtimes import Framework

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.layout.processes import ProcessMemory

CUBLAS_BYTES = 8_519_680
"""Workspace of PyTorch's products, ``:4096:2:16:8``: two blocks of 4096 KiB and eight of 16 KiB
(aten/src/ATen/cuda/CublasHandlePool.cpp)."""
HOPPER_CUBLAS_BYTES = 32 << 20
"""Workspace on Hopper, by the same source."""
RUNS = 2
"""Runs that are replayed on an allocator: the second reuses blocks that the first left."""


@record
class Footprint:
    """Device memory of a run.

    Args:
        parts: live bytes at the peak by role, without empty roles.
        allocated_bytes: live bytes at the peak, rounded by the allocator.
        reserved_bytes: peak of bytes that the allocator reserves on the device.
        context_bytes: memory of the driver and the libraries; on a processor that of the runtime,
            where perfc knows it.
        capacity_bytes: memory reported by the driver, minus ``--reserve``; None if the target does
            not declare it.
        margin_bytes: safety margin of the capacity.
        allocator: name of the allocator.
        peak_node: node that runs at the peak; empty if nothing runs.
        peak_phase: phase of a training step at the peak.
        live: live bytes while each kernel runs.
        reserved: reserved bytes while each kernel runs.
        phases: phase of each kernel.
        is_bound: True if more may be needed, because some size is unknown.
    """

    parts: Mapping[BufferRole, int]
    allocated_bytes: int
    reserved_bytes: int
    context_bytes: int
    capacity_bytes: int | None
    margin_bytes: int
    allocator: str
    peak_node: str
    peak_phase: Phase
    live: tuple[int, ...]
    reserved: tuple[int, ...]
    phases: tuple[Phase, ...]
    is_bound: bool

    @property
    def live_bytes(self) -> int:
        """Return the live bytes at the peak; copies made while loading only occupy memory."""
        return sum(self.parts.values()) - self.parts.get(BufferRole.COPY, 0)

    @property
    def allocator_bytes(self) -> int:
        """Return the allocator overhead: rounding and fragmentation."""
        return max(self.reserved_bytes - sum(self.parts.values()), 0)

    @property
    def total_bytes(self) -> int:
        """Return the total memory of the process as reported by the driver."""
        return self.reserved_bytes + self.context_bytes

    @property
    def fits(self) -> bool | None:
        """Return True if the device has this much and the margin; None if its memory is unknown."""
        if self.capacity_bytes is None:
            return None
        return self.total_bytes + self.margin_bytes <= self.capacity_bytes


def table_of(report: Report) -> StorageTable:
    """Return the buffers of the run of a report."""
    return report.analyses.get(Storages(report.deployment.table_name), report.module)


def live_memory(
    table: StorageTable, env: Mapping[str, int]
) -> tuple[list[int], int, dict[BufferRole, int]]:
    """Return the live bytes of each kernel, the first kernel at the peak, and its bytes by role."""
    line = table.live_bytes(env)
    step = max(range(len(line)), key=line.__getitem__, default=0)
    return line, step, table.live_at(env, step) if line else {}


def footprint(
    report: Report,
    env: Mapping[str, int] | None = None,
    *,
    table: StorageTable | None = None,
    more_bytes: int = 0,
) -> Footprint:
    """Return the footprint of the run of a report.

    Args:
        report: the analyzed run.
        env: values of the symbols; those of the report by default.
        table: buffers of the run, if they are divided among devices; all buffers by default.
        more_bytes: additional workspace.
    """
    is_whole, table = table is None, table or table_of(report)
    env = report.env if env is None else env
    machine, framework = report.machine, report.kernels.runtime.framework
    capacity = report.deployment.capacity(machine)
    workspace = workspace_bytes(report) + more_bytes
    make = allocator_of(report.kernels.runtime)
    unlimited = partial(_replayed, table, env, make(None), workspace)
    peak = partial(live_memory, table, env)
    key = report.deployment.table_name, *env.items()
    once = partial(report.analyses.once, report.module)
    # only whole tables depend on nothing but the module and the key: their results stay valid
    if is_whole:
        replayed = once(("unlimited memory", make, workspace, *key), unlimited, lambda _: True)
        line, step, parts = once(("live memory", *key), peak, lambda _: True)
    else:
        replayed, (line, step, parts) = unlimited(), peak()
    if workspace:
        parts = {**parts, BufferRole.WORKSPACE: parts.get(BufferRole.WORKSPACE, 0) + workspace}
    if capacity is not None and replayed.reserved_bytes > capacity.tensor_bytes:
        # a full device makes an allocator give back what it holds
        with contextlib.suppress(OutOfMemoryError):
            replayed = _replayed(table, env, make(capacity.tensor_bytes), workspace)
    result = Footprint(
        parts,
        replayed.allocated_bytes,
        replayed.reserved_bytes,
        context_bytes=capacity.context_bytes if capacity else 0,
        capacity_bytes=capacity.usable_bytes if capacity else None,
        margin_bytes=capacity.margin_bytes if capacity else 0,
        allocator=make.title,
        peak_node=table.names[step] if line else "",
        peak_phase=table.phases[step] if line else Phase.FORWARD,
        live=tuple(s + workspace for s in line),
        reserved=replayed.reserved_line,
        phases=table.phases,
        is_bound=table.is_bound,
    )
    if not is_whole or machine.kind != "cpu":
        return result
    from perfc.passes.layout.processes.by_framework import GROWN, process_of

    if framework not in GROWN:
        return result
    grow = partial(process_of, framework, report.kernels.kernels, table, env)
    return _of_process(result, once(("process", *key), grow, lambda _: True))


def _of_process(live: Footprint, grown: ProcessMemory) -> Footprint:
    """Return the footprint of a process on a processor, whose memory grows while the model runs."""
    parts = {BufferRole.PARAMETER: grown.weight_bytes}
    unassigned_bytes = grown.run_bytes + grown.copy_bytes
    # role by role, buffers account for the growth of the process; the bytes of buffers beyond the
    # growth reuse memory
    for role, nbytes in live.parts.items():
        if role is not BufferRole.PARAMETER:
            parts[role] = min(nbytes, unassigned_bytes)
            unassigned_bytes -= parts[role]
    parts[BufferRole.COPY] = min(grown.copy_bytes, unassigned_bytes)
    return replace(
        live,
        parts={role: nbytes for role, nbytes in parts.items() if nbytes},
        reserved_bytes=grown.grown_bytes - grown.library_bytes,
        context_bytes=grown.library_bytes,
    )


def _replayed(
    table: StorageTable, env: Mapping[str, int], allocator: Allocator, workspace: int
) -> Replay:
    """Replay the buffers on an allocator that first reserves the workspace."""
    if workspace:
        allocator.allocate(-1, workspace)  # -1 is no buffer of the table: never freed
    return replay(table.events(env), allocator, len(table.steps), RUNS)


def slices_of(card: Machine) -> list[tuple[SliceProfile, Machine]]:
    """Return the MIG slices of a card, smallest first; none without known slices."""
    partition = None if card.slice else partition_of(card)  # a slice is not divided again
    order = (
        sorted(partition.profiles, key=lambda p: (p.card_share, p.sm_count)) if partition else []
    )
    return [(p, load_machine(f"{card.path}/{p.name}")) for p in order]


def mig_slice(report: Report) -> str | None:
    """Return the smallest MIG slice that holds the run of a card.

    It is "none" if no slice holds the run, and None if perfc knows no slices of the card.
    """
    slices = slices_of(report.machine)
    serving = (p.name for p, m in slices if holds(replace(report, machine=m), report.env))
    return next(serving, "none") if slices else None


def holds(
    report: Report,
    env: Mapping[str, int],
    *,
    table: StorageTable | None = None,
    more_bytes: int = 0,
) -> bool:
    """Return True if the allocator can serve the run within the device memory.

    Args:
        report: the analyzed run.
        env: values of its symbols.
        table: its buffers, if they are divided among devices.
        more_bytes: additional workspace.
    """
    capacity = report.deployment.capacity(report.machine)
    if capacity is None:
        return True
    workspace = workspace_bytes(report) + more_bytes
    allocator = allocator_of(report.kernels.runtime)(capacity.tensor_bytes)
    try:
        _replayed(table or table_of(report), env, allocator, workspace)
    except OutOfMemoryError:
        return False
    return True


def workspace_bytes(report: Report) -> int:
    """Return the workspace in bytes that the framework of a run keeps for matrix products."""
    has_products = any(k.work.mac for k in report.kernels.kernels)
    is_torch = report.kernels.runtime.framework is Framework.TORCH
    if not is_torch or report.machine.kind == "cpu" or not has_products:
        return 0
    is_hopper = report.machine.arch.startswith("sm_9")
    return HOPPER_CUBLAS_BYTES if is_hopper else CUBLAS_BYTES
