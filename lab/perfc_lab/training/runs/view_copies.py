"""Copies that an eager framework makes of views, as rows of the operator predictor.

There are two kinds: reshapes that strides cannot express, and operands of batched products, which
are first reshaped to one batch axis. Attention that is not fused has copies of both kinds. Sources:
PyTorch 2.1, ``aten/src/ATen/native/LinearAlgebra.cpp``, ``_matmul_impl`` ("expand, then reshape
to three dimensions"); ``aten/src/ATen/TensorUtils.cpp``, ``computeStride``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perfc.analyzers.features.lowering import Lowered, shape
from perfc.ir import Numbers
from perfc.ir.op import Kind
from perfc.passes.inference.placement import viewed

if TYPE_CHECKING:
    from perfc.ir.graph import Value
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.inference.strides import StrideTable


ITEM = 4
"""Bytes of an element: copies are predicted as those of f32."""


def copied(kernel: Kernel, strides: StrideTable, env: Mapping[str, int]) -> Iterator[Lowered]:
    """Yield a copy for each value that is copied for a kernel or for the views in front of it."""
    for node in kernel.nodes:
        # a reshape that its operand's strides cannot express
        view = strides.copies.get(node)
        values = [view] if view is not None else []
        if kernel.kind is node.op.kind is Kind.MATMUL:
            values += [v for v in node.inputs if v is not None and is_gathered(v, strides)]
        for value in values:
            yield from streams(elements(value, env), ((1, 1),))


def is_gathered(value: Value, strides: StrideTable) -> bool:
    """Return True if the batch axes of an operand cannot be read as one.

    With fewer than four axes there is one batch axis at most. Stored weights are contiguous.
    """
    shape = strides.shapes.get(value, ())
    if value.weight is not None or len(shape) < 4:
        return False
    merged = (math.prod(shape[:-2]), *shape[-2:])
    return viewed(shape, strides.of(value), merged) is None


def streams(n: float, parts: tuple[tuple[int, int], ...]) -> Iterator[Lowered]:
    """Yield a pointwise kernel over ``n`` elements for each pair of tensors read and written."""
    for read, written in parts:
        if n:
            # a fill reads nothing, and is predicted as an operator of one operand
            yield row(n, ITEM * read * n, ITEM * written * n, max(read, 1))


def row(n: float, read_bytes: float, write_bytes: float, operands: int) -> Lowered:
    """Return a pointwise kernel."""
    return Lowered(
        "elementwise",
        "f32",
        {
            "elements": n,
            "read_bytes": read_bytes,
            "write_bytes": write_bytes,
            "alu": n,
            "operands": float(operands),
            "tensor_operands": float(operands),
        },
    )


def elements(value: Value | None, env: Mapping[str, int]) -> float:
    """Return the elements of a tensor, 0 where its shape is not known."""
    extents = shape(value, Numbers(env))
    return float(math.prod(extents)) if extents is not None else 0.0
