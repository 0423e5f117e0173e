"""What a run holds of a device: every part of it, its allocator's share, and when that is most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.graph import Phase
from perfc.ir.record import record
from perfc.passes.allocators import Allocator, OutOfMemoryError, Replay, allocator_of, replay
from perfc.passes.runtimes import Framework
from perfc.passes.storage import Role, Storages, StorageTable

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.machine import Capacity

CUBLAS_BYTES = 8_519_680
"""Workspace of PyTorch's products, ``:4096:2:16:8`` KiB (aten/src/ATen/cuda/CublasHandlePool.cpp);
32 MiB on Hopper."""
HOPPER_CUBLAS_BYTES = 32 << 20
RUNS = 2
"""Runs that an allocator is asked for: the second finds what the first left."""


@record
class Footprint:
    """Device memory of a run.

    Args:
        parts: bytes alive at the peak by what they are for, none of them 0.
        allocated_bytes: alive at the peak, as the allocator rounds them.
        reserved_bytes: most that the allocator holds of the device.
        context_bytes: of the driver and the libraries; 0 on a processor.
        capacity_bytes: that the driver reports, less what is held back with ``--reserve``; None
            where the target does not say.
        margin_bytes: of these, that are left free.
        allocator: its name.
        peak_node: that runs at the peak; "" where nothing runs.
        peak_phase: of a training step.
        live: bytes alive while each kernel runs.
        reserved: held of the device then.
        phases: of the kernels.
        is_bound: whether more may be needed, because some size is not known.
    """

    parts: Mapping[Role, int]
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
        """Alive at the peak."""
        return sum(self.parts.values())

    @property
    def allocator_bytes(self) -> int:
        """What the allocator holds beyond what lives: rounding, and gaps between blocks."""
        return max(self.reserved_bytes - self.live_bytes, 0)

    @property
    def total_bytes(self) -> int:
        """All of it, as the driver shows the process."""
        return self.reserved_bytes + self.context_bytes

    @property
    def fits(self) -> bool | None:
        """Whether the device has that much and the margin; None where its memory is not known."""
        if self.capacity_bytes is None:
            return None
        return self.total_bytes + self.margin_bytes <= self.capacity_bytes


def table_of(report: Report) -> StorageTable:
    """The buffers of a report's run."""
    return report.analyses.get(Storages(report.deployment.table_name), report.module)


def footprint(
    report: Report,
    env: Mapping[str, int] | None = None,
    *,
    table: StorageTable | None = None,
    more_bytes: int = 0,
) -> Footprint:
    """The footprint of a report's run.

    Args:
        report: of the run.
        env: values of its symbols, where those of the report are not meant.
        table: its buffers, where they are divided among devices.
        more_bytes: of workspace.
    """
    table, env = table or table_of(report), report.env if env is None else env
    machine, framework = report.machine, report.kernels.runtime.framework
    capacity = report.deployment.capacity(machine)
    line = table.live(env)
    sums = [sum(by_role.values()) for by_role in line]
    at = max(range(len(sums)), key=sums.__getitem__) if sums else 0
    parts = dict(line[at]) if line else {}
    workspace = workspace_bytes(report, framework) + more_bytes
    if workspace:
        parts[Role.WORKSPACE] = parts.get(Role.WORKSPACE, 0) + workspace
    make = allocator_of(framework)
    done = _within(table, env, make, workspace, capacity)
    held: tuple[int, int | None, int] = (0, None, 0)
    if capacity is not None:
        held = capacity.context_bytes, capacity.usable_bytes, capacity.margin_bytes
    return Footprint(
        parts, done.allocated_bytes, done.reserved_bytes, *held, make.title,
        table.names[at] if line else "", table.phases[at] if line else Phase.FORWARD,
        tuple(s + workspace for s in sums), done.reserved_line, table.phases, table.is_bound,
    )  # fmt: skip


def _within(
    table: StorageTable, env: Mapping[str, int], make: type[Allocator], workspace: int,
    capacity: Capacity | None,
) -> Replay:  # fmt: skip
    """A run in the device, or in one without an end where it does not fit."""
    if capacity is not None:
        try:
            return _replayed(table, env, make(capacity.tensor_bytes), workspace)
        except OutOfMemoryError:
            pass
    return _replayed(table, env, make(None), workspace)


def _replayed(
    table: StorageTable, env: Mapping[str, int], allocator: Allocator, workspace: int
) -> Replay:
    if workspace:
        allocator.allocate(-1, workspace)
    return replay(table.events(env), allocator, len(table.steps), RUNS)


def holds(
    report: Report,
    env: Mapping[str, int],
    *,
    table: StorageTable | None = None,
    more_bytes: int = 0,
) -> bool:
    """Whether the allocator serves a run within the device, giving back what it must.

    Args:
        report: of the run.
        env: values of its symbols.
        table: its buffers, where they are divided among devices.
        more_bytes: of workspace.
    """
    capacity = report.deployment.capacity(report.machine)
    if capacity is None:
        return True
    framework = report.kernels.runtime.framework
    workspace = workspace_bytes(report, framework) + more_bytes
    allocator = allocator_of(framework)(capacity.tensor_bytes)
    try:
        _replayed(table or table_of(report), env, allocator, workspace)
    except OutOfMemoryError:
        return False
    return True


def workspace_bytes(report: Report, framework: Framework) -> int:
    """Workspace that a framework keeps for products from the first one on."""
    has_products = any(k.work.mac for k in report.kernels.kernels)
    if framework is not Framework.TORCH or report.machine.kind == "cpu" or not has_products:
        return 0
    is_hopper = report.machine.arch.startswith("sm_9")
    return HOPPER_CUBLAS_BYTES if is_hopper else CUBLAS_BYTES
