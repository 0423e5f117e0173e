"""Growth of a process of PyTorch on a processor: weights, and what lives while it runs.

Tensors go back to the system when nothing refers to them. oneDNN takes feature maps and filters in
blocks of channels, which are copied on every call, and so is its result.

Source: PyTorch 2.13, aten/src/ATen/native/mkldnn/Conv.cpp, ideep/operators/conv.hpp;
allocations as ``torch.profiler`` lists them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from perfc.ir import Dim, Env, Numbers, Op
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad, ConvFilterGrad
from perfc.ir.problem import SlidingWindow

from ...fusion.kernel import Kernel
from ...memory.storage import StorageTable
from ..blocks import BLOCK
from . import ProcessMemory

F32_BYTES = 4
MADE: Mapping[type[Op], int] = {ConvDataGrad: 0, ConvFilterGrad: 1}
"""Which of feature maps, filters and results a gradient makes."""


def grown_by_torch(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> ProcessMemory:
    """Return the growth of a process that has a model and runs it.

    Args:
        kernels: kernels of the model.
        table: its buffers.
        env: values of its symbols.
    """
    at = Numbers(env)
    copied = {k.anchor: copies(k, at) for k in kernels}
    made = Counter[int]()
    for b, nbytes in zip(table.buffers, table.sizes(env), strict=True):
        made[max(b.born, -1)] += nbytes
    stored = most = made[-1]
    for i, live in enumerate(table.live_bytes(env)):
        during, after = copied.get(table.steps[i], (0, 0))
        most = max(most, live - made[i] + during, live + after)
    return ProcessMemory(0, stored, 0, most - stored)


def copies(kernel: Kernel, at: Numbers) -> tuple[int, int]:
    """Return the bytes that a kernel takes before it has memory for its results, and after."""
    window, op = kernel.problem, kernel.anchor.op
    if not (isinstance(op, Conv) and isinstance(window, SlidingWindow)):
        return 0, 0
    parts = blocked(window, at)
    return sum(parts), parts[MADE.get(type(op), 2)]


def blocked(window: SlidingWindow, at: Numbers) -> tuple[int, int, int]:
    """Return the bytes in blocks of feature maps, filters and results; few channels stay plain."""

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
