"""Pointwise kernels: one operator or a fused chain, alone on its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind
from perfc.ir.types import TensorType

from . import Lowered, shape

if TYPE_CHECKING:
    from perfc.ir.graph import Value
    from perfc.passes.roofline import KernelBound

NAME = "elementwise"
KINDS = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE})


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Elements written, tensors and bytes moved, operations an element."""
    if bound.kernel.kind not in KINDS:
        return None
    return of(bound, env, NAME)


def of(bound: KernelBound, env: Mapping[str, int], name: str) -> Lowered | None:
    """A kernel that maps elements, as rows of its last axis."""
    extents = shape(bound.kernel.writes[0] if bound.kernel.writes else None, env)
    if extents is None or not math.prod(extents):
        return None
    numel = float(math.prod(extents))
    columns = float(extents[-1]) if extents else 1.0
    n = bound.counts
    return Lowered(
        name,
        stored_type(bound.kernel.writes[0]),
        {
            "elements": numel,
            "rows": numel / columns,
            "cols": columns,
            "operands": float(len(bound.kernel.reads)),
            "tensor_operands": float(sum(is_whole(v, numel, env) for v in bound.kernel.reads)),
            "read_bytes": n.read_bytes,
            "write_bytes": n.write_bytes,
            "alu": n.alu,
            "sfu": n.sfu,
        },
    )


def is_whole(value: Value, numel: float, env: Mapping[str, int]) -> bool:
    """Whether an operand has as many elements as the result: no scalar, no row that is repeated."""
    extents = shape(value, env)
    return extents is not None and math.prod(extents) >= numel


def stored_type(value: Value) -> str:
    """Element type of a tensor."""
    return value.type.dtype.code if isinstance(value.type, TensorType) else "f32"
