"""Lower bounds of operators of a trace on a target; operands may lie in a cache.

`floor_of` counts the work of a call by its shapes and divides by the target's peaks; `target_of`
finds the target of a device by what the trace records of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.ir import DType, record
from perfc.machine import Machine, load_machine
from perfc.passes.roofline.ceilings import Ceiling
from perfc.passes.roofline.floor import Floors

from .facts import DeviceFacts, OperatorCall
from .work.call_work import CallWork
from .work.costs import work_of
from .work.operators import signature_of

if TYPE_CHECKING:
    from perfc.analyzers.features.lowering import Lowered

MOST_DIFFERENT = 0.1
"""Maximum relative difference of the memory that a driver reports and that of the target."""
_TF32 = re.compile(r"tf32|xf32|tensorop|s1688|s16816|bf16x[369]|_S_MX_B", re.IGNORECASE)
"""Names of kernels that multiply f32 on matrix units, of CUTLASS, cuBLAS, cuDNN and hipBLASLt.

``s1688`` and ``s16816`` are shapes of matrix instructions, ``bf16x3`` and more split f32 into bf16.
"""
_MOVES = re.compile(r"\[?(CUDA )?mem(cpy|set)", re.IGNORECASE)
"""Names of copies and fills that are no kernels."""


@record
class OperatorFloor:
    """Work and lower bound of one call of an operator.

    Args:
        flop: operations; None if they depend on data.
        nbytes: compulsory bytes.
        floor_s: lower bound of its time on the target.
        limit: part of the hardware that sets the bound.
        lowered: class and extents of its kernel; None for one of no class.
        tf32: whether f32 operands are rounded to TF32.
    """

    flop: float | None
    nbytes: float
    floor_s: float
    limit: str
    lowered: Lowered | None = None
    tf32: bool = False


def floor_of(
    call: OperatorCall, machine: Machine, kernels: Sequence[str] = (), time_s: float = math.inf
) -> OperatorFloor | None:
    """Return the work and the lower bound of a call; None for an operator without a formula.

    Products of f32 use TF32 where a kernel's name says so, or where the measured time is below the
    lower bound in f32.

    Args:
        call: operator with its arguments.
        machine: target.
        kernels: names of its kernels.
        time_s: measured time of one execution.
    """
    from perfc.analyzers.features.lowering import Lowered

    signature = signature_of(call.operator)
    work = None if signature is None else work_of(call, signature, kernels)
    if work is None:
        return None
    if kernels and all(map(is_with_host, kernels)):
        return host_copy(call, work, machine)
    if kernels and all(map(_MOVES.match, kernels)) and work.counts.flop:
        return None  # the kernels that compute were not recorded
    rounds = work.dtype is DType.F32 and any(map(_TF32.search, kernels))
    # TF32 counts if the kernel's name says so, or if the time is below the bound of f32
    for tf32 in (True,) if rounds else (False, True):
        times = Floors(machine, tf32=tf32).times_s(
            work.counts, work.dtype, is_chosen=work.is_chosen
        )
        if times.get(Ceiling.MATRIX, 0.0) <= time_s:
            break
    limit = max(times, key=times.__getitem__, default=None)
    return OperatorFloor(
        work.counts.flop if work.is_counted else None,
        work.counts.nbytes,
        times[limit] if limit else 0.0,
        limit.value if limit else "",
        Lowered(work.class_name, work.dtype.code, work.extents) if work.extents else None,
        tf32 and work.dtype is DType.F32 and work.counts.mac > 0,
    )


def is_with_host(kernel: str) -> bool:
    """Return True for a copy from or to the host, which memory of the device does not bound."""
    return any(way in kernel for way in ("HtoD", "DtoH", "Host -> ", "-> Host"))


def host_copy(call: OperatorCall, work: CallWork, machine: Machine) -> OperatorFloor | None:
    """Return the bound of a copy by the link to the host; None for other operators."""
    link = machine.link("host")
    # the bytes of one side pass the link: the smaller ones give a lower bound if the types differ
    nbytes = min(work.counts.read_bytes, work.counts.write_bytes)
    if link is None or call.operator != "aten::copy_":
        return None
    return OperatorFloor(flop=0.0, nbytes=nbytes, floor_s=nbytes / link.value, limit="host link")


def target_of(facts: DeviceFacts) -> Machine | None:
    """Return the target that the facts of a device name; None if none does.

    A device without a name is identified by its architecture, units and memory.
    """
    # in virtual machines, the name of an AMD GPU ends with VF, for a virtual function
    names = [facts.name, facts.name.removeprefix("AMD ").partition(" VF")[0]]
    for name in filter(None, names):
        try:
            return load_machine(name)
        except PerfcError:
            continue
    if not facts.sm_count or not facts.memory_bytes:
        return None
    from perfc.machine import list_machines

    # names of architectures of AMD have a stepping behind major and minor number
    arch = "{}{}".format(*facts.capability)
    candidates: list[tuple[float, Machine]] = []
    for listing in list_machines():
        machine = load_machine(listing.name)
        memory = machine.level("device")
        is_arch = machine.arch == f"sm_{arch}" or machine.arch.startswith(f"gfx{arch}")
        if is_arch and machine.sm_count == facts.sm_count and memory is not None:
            candidates.append((abs(memory.capacity_bytes / facts.memory_bytes - 1), machine))
    difference, nearest = min(candidates, key=lambda c: c[0], default=(math.inf, None))
    return nearest if difference < MOST_DIFFERENT else None
