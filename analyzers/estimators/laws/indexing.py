"""Address arithmetic of PyTorch's kernels: axes that strides and broadcasting separate.

Source: PyTorch, aten/src/ATen/TensorIterator.cpp, ``reorder_dimensions`` and
``coalesce_dimensions``; kernels of merged axes load vectors, others divide for each address.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.passes.inference.placement import Extents


def along(shape: Extents, operand: Extents, strides: Extents) -> Extents:
    """Return strides of an operand along the axes of the result; 0 where it is broadcast.

    Args:
        shape: extents of the result.
        operand: extents of the operand, whose axes are the last of the result.
        strides: strides of the operand, in elements.

    >>> along((8, 4), (4,), (1,))
    (0, 1)
    """
    lead = len(shape) - len(operand)
    axes = zip(shape[lead:], operand, strides, strict=True)
    return (0,) * lead + tuple(
        0 if extent == 1 and result_extent != 1 else stride
        for result_extent, extent, stride in axes
    )


def merged(shape: Extents, steps: list[Extents]) -> int:
    """Return the number of axes that remain when all axes are merged that can be.

    Two axes merge if every tensor steps through both as through one. ``steps`` are the strides of
    each tensor (`along`).

    >>> merged((8, 4), [(4, 1), (4, 1)]), merged((8, 4), [(4, 1), (1, 8)])
    (1, 2)
    """
    axes = [a for a in range(len(shape)) if shape[a] != 1]
    axes.sort(key=lambda a: [s[a] for s in steps])  # innermost first
    count = 0
    # extent of the last merged axis, and the step of each tensor along it
    last: tuple[int, tuple[int, ...]] | None = None
    for axis in axes:
        step = tuple(s[axis] for s in steps)
        # contiguous: one step along this axis is a whole pass of the axis before, in all operands
        if last is not None and step == tuple(last[0] * s for s in last[1]):
            last = last[0] * shape[axis], last[1]
            continue
        count += 1
        last = shape[axis], step
    return count


def hardness(shape: Extents, tensors: Sequence[tuple[Extents, Extents]]) -> tuple[float, float]:
    """Return 1 if axes do not merge, else 0, and 1 if tensors are densest along different axes.

    In the second case some tensor is read across its order in memory. Both are floats, as laws take
    them as shares: of elements whose address is computed, and of elements that are read across.

    Args:
        shape: extents of the result.
        tensors: extents and strides of each tensor.

    >>> hardness((8, 4), [((8, 4), (4, 1)), ((8, 4), (1, 8))])
    (1.0, 1.0)
    """
    steps = [along(shape, *tensor) for tensor in tensors]
    axes = [a for a in range(len(shape)) if shape[a] != 1]
    # Only tensors with all elements of the result count: a smaller one lacks axes, so that its
    # densest axis differs even if it is read in order, as the bias of channels. An axis that a view
    # expands has a stride of 0 in a tensor of full extents, and says nothing about the order.
    densest = {
        min(axes, key=lambda a: step[a] or math.inf)
        for step, (extents, _) in zip(steps, tensors, strict=True)
        if axes and math.prod(extents) == math.prod(shape)
    }
    return float(merged(shape, steps) > 1), float(len(densest) > 1)
