"""Overlapping windows: views of a framework with strides, which exporters write as lookups."""

from __future__ import annotations

from perfc.ir import Node
from perfc.ir.ops.movement.gather import Gather

WINDOWS = "windows"
"""Stands for lookups of windows and selections among the mnemonics of a runtime's views."""


def window_steps(node: Node) -> tuple[int, int] | None:
    """Return the steps between windows and within a window; None for any other lookup.

    ``Tensor.unfold`` exports as a Gather with a constant table ``index[i, j] = first + i*step +
    j``. Lookups in stored tensors, as of embeddings, are kernels in any framework.

    Source: torch.onnx, aten_unfold; PyTorch, aten/src/ATen/native/TensorShape.cpp, ``unfold``.
    """
    if not isinstance(node.op, Gather) or len(node.inputs) != 2:
        return None
    data, index = node.inputs
    if data is None or data.weight is not None or index is None or index.known is None:
        return None
    shape, items = index.known.shape, index.known.items
    # a single row of indices along the first axis looks up rows of a table
    least_rows = 2 if node.op.axis == 0 else 1
    if len(shape) != 2 or shape[1] < 2 or shape[0] < least_rows:
        return None
    rows, width = shape
    numbers = [i for i in items if isinstance(i, int)]
    if len(numbers) != rows * width or min(numbers) < 0:
        return None
    first, inner = numbers[0], numbers[1] - numbers[0]
    outer = numbers[width] - first if rows > 1 else width * inner
    # the two steps are read off three entries; every entry must agree with them
    lattice = [first + i * outer + j * inner for i in range(rows) for j in range(width)]
    return (outer, inner) if numbers == lattice else None


def is_selection(node: Node) -> bool:
    """Return True for a lookup of one position along an axis of a computed tensor: ``x[:, 0]``."""
    if not isinstance(node.op, Gather) or len(node.inputs) != 2:
        return False
    data, index = node.inputs
    is_computed = data is not None and data.weight is None
    return is_computed and index is not None and index.known is not None and not index.known.shape
