"""Launches of kernels over lists of tensors: as many as arguments and grids require."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfc.ir import Kind, Numbers, Value
from perfc.ir.ops.training.multi_tensor import MultiTensor
from perfc.machine import Machine

from ..fusion.fuse import KernelTable
from ..fusion.kernel import Kernel
from ..runtimes import CHUNK, ListLimit


def over_lists(
    table: KernelTable, machine: Machine, at: Numbers, version: tuple[int, int] | None = None
) -> KernelTable:
    """Return the table with the launches that its kernels over lists of tensors take."""
    limits = (x for x in table.runtime.lists if x.holds(machine, version))
    limit = next(limits, None)
    if limit is None or not any(k.kind is Kind.OPTIMIZER for k in table.kernels):
        return table
    kernels = tuple([with_launches(kernel, limit, at) for kernel in table.kernels])
    return replace(table, kernels=kernels, memo={})


def launch_count(sizes: Iterable[float], most_tensors: int, most_chunks: float) -> int:
    """Return the launches of one operation over tensors with the ``sizes`` in elements.

    As in PyTorch's ``multi_tensor_apply``, a launch ends with a full tensor list or a full grid.
    After a full grid the next launch begins with the rest of the tensor.

    >>> launch_count([64, 200_000, 10], 2, 320), launch_count([5 * CHUNK], 2, 4)
    (2, 2)
    """
    launches, tensors, chunks = 0, 0, 0.0
    for size in sizes:
        remaining = -(-size // CHUNK)
        tensors += remaining > 0
        # blocks of a launch are chunks; a large tensor goes on in the next launch
        while remaining:
            in_launch = min(remaining, most_chunks - chunks)
            remaining, chunks = remaining - in_launch, chunks + in_launch
            if chunks == most_chunks or (tensors == most_tensors and not remaining):
                launches, tensors, chunks = launches + 1, int(remaining > 0), 0.0
    return launches + (chunks > 0)


def with_launches(kernel: Kernel, limit: ListLimit, at: Numbers) -> Kernel:
    """Return a kernel over lists of tensors as the average of the launches that it takes.

    Lists are grouped by the types of their tensors. Functions without a kernel over lists are
    launched tensor by tensor.

    Args:
        kernel: the kernel; any other is returned as it is.
        limit: maximum tensors and chunks of a launch.
        at: evaluates extents.
    """
    op, ins = kernel.anchor.op, kernel.anchor.inputs
    if not isinstance(op, MultiTensor):
        return kernel
    members = op.members(ins)
    # one launch takes only tensors with the same combination of types
    groups: dict[object, list[float]] = {}
    for i in range(members):
        tensors = ins[i::members]
        types = tuple([v and v.dtype for v in tensors])
        groups.setdefault(types, []).append(_elements(tensors[0], at))
    # an argument list has a row of pointers for each list, results that are not in place included
    # (``limit.tensors`` begins with the limit of one list)
    depth = min(op.lists + op.fresh, len(limit.tensors))
    count = sum(
        launch_count(sizes, limit.tensors[depth - 1], limit.chunks) if op.is_list else len(sizes)
        for sizes in groups.values()
    )
    return kernel if count <= 1 else kernel.divided(count)


def _elements(v: Value | None, at: Numbers) -> float:
    """Return the elements of a tensor; 0 if it is missing or its shape unknown."""
    size = None if v is None else v.numel
    return 0 if size is None else at(size)
