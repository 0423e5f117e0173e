"""Growth of a process of PyTorch on a processor: weights, and buffers that live while it runs.

Tensors are freed as soon as nothing refers to them. oneDNN reads feature maps and filters in blocks
of channels, into which they are copied on every call, and its result is copied out of them.

Source: PyTorch 2.13, aten/src/ATen/native/mkldnn/Conv.cpp, ideep/operators/conv.hpp;
allocations as ``torch.profiler`` lists them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from perfc.ir import Dim, Env, Numbers, Phase
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.problem import SlidingWindow

from ...fusion.kernel import Kernel
from ...memory.allocators.heap import Heap
from ...memory.storage import BufferRole, StorageTable
from ..blocks import BLOCK
from . import ProcessMemory

F32_BYTES = 4
"""Bytes of an element in the blocks of oneDNN, which are f32."""


def grown_by_torch(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> ProcessMemory:
    """Return the growth of a process that has a model and runs it.

    Args:
        kernels: kernels of the model.
        table: buffers of a run.
        env: values of the model's symbols.
    """
    at, sizes = Numbers(env), table.sizes(env)
    weights = sum(
        n for b, n in zip(table.buffers, sizes, strict=True) if b.role is BufferRole.PARAMETER
    )
    if Phase.BACKWARD in table.phases:
        return ProcessMemory(0, weights, 0, replayed_bytes(kernels, table, env) - weights)
    copied = {k.anchor: copies(k, at) for k in kernels}
    born_bytes = Counter[int]()
    for b, nbytes in zip(table.buffers, sizes, strict=True):
        born_bytes[b.born] += nbytes
    # weights and inputs are born at -1, before the run; a kernel first has its blocked copies and
    # no results, then its results and the blocked result
    peak = born_bytes[-1]
    for i, live in enumerate(table.live_bytes(env)):
        during, after = copied.get(table.steps[i], (0, 0))
        peak = max(peak, live - born_bytes[i] + during, live + after)
    return ProcessMemory(0, weights, 0, peak - weights)


def replayed_bytes(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> int:
    """Return the peak of the heap in two training steps, with its free blocks.

    Args:
        kernels: kernels of the model.
        table: buffers of a step.
        env: values of the model's symbols.
    """
    at, heap, held = Numbers(env), Heap(), set[int]()
    parts = {
        k.anchor: blocked(k.problem, at)
        for k in kernels
        if isinstance(k.problem, SlidingWindow) and isinstance(k.anchor.op, Conv)
    }
    # the second step begins with the free blocks that the first step left
    for _ in range(2):
        for step, events in groupby(table.events(env), itemgetter(0)):
            requests = [(key, n) for _, key, n in events if n]
            # -1 is before the first kernel
            copy_sizes = parts.get(table.steps[step], ()) if step in range(len(table.steps)) else ()
            # negative keys, which no buffer has
            inside = [(-i, n) for i, n in enumerate(copy_sizes, 1)]
            allocated = [r for r in requests if r[1] > 0 and r[0] not in held]
            for key, nbytes in inside + allocated:
                heap.allocate(key, nbytes)
            freed = [key for key, n in requests if n < 0]
            for key in [key for key, _ in inside] + freed:
                heap.free(key)
            held = held.union(key for key, _ in allocated).difference(freed)
    return heap.peak_bytes


def copies(kernel: Kernel, at: Numbers) -> tuple[int, int]:
    """Return the bytes of a kernel's copies before its results are allocated, and after that."""
    window = kernel.problem
    if not isinstance(window, SlidingWindow) or not isinstance(kernel.anchor.op, Conv):
        return 0, 0
    maps, filters, results = blocked(window, at)
    # the result in blocks stays until it is copied
    return maps + filters + results, results


def blocked(window: SlidingWindow, at: Numbers) -> tuple[int, int, int]:
    """Return the bytes of blocked copies of feature maps, filters and results.

    A feature map with fewer channels than a block is read as it is, and has no copy.
    """

    def in_blocks(channels: Dim) -> int:
        return -(-int(at(channels)) // BLOCK) * BLOCK

    def product(extents: Sequence[Dim]) -> int:
        return int(math.prod(map(at, extents)))

    depth, filters = int(at(window.depth)), in_blocks(window.out_channels)
    is_plain = window.groups == 1 and depth < BLOCK
    maps = 0 if is_plain else in_blocks(window.in_channels)
    depth = in_blocks(depth) if window.groups == 1 and not is_plain else depth
    batch = F32_BYTES * int(at(window.batch))
    return (
        batch * maps * product(window.in_extents),
        F32_BYTES * filters * depth * product(window.extents),
        batch * filters * product(window.out_extents),
    )
