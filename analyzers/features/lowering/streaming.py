"""Reductions and pooling: kernels that stream their operands once, as pointwise ones do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind

from . import Lowered, shape
from .elementwise import stored_type

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

NAME = "elementwise"
"""No rows of their own are published; bytes at the reach of pointwise kernels are next to them."""
KINDS = frozenset({Kind.REDUCTION, Kind.POOL})


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Elements and bytes of the operand, which is larger than the result."""
    kernel = bound.kernel
    if kernel.kind not in KINDS or not kernel.reads or not kernel.writes:
        return None
    extents = shape(kernel.anchor.inputs[0] if kernel.anchor.inputs else None, env)
    if extents is None or not math.prod(extents):
        return None
    n = bound.counts
    return Lowered(
        NAME,
        stored_type(kernel.writes[0]),
        {
            "elements": float(math.prod(extents)),
            "read_bytes": n.read_bytes,
            "write_bytes": n.write_bytes,
            "alu": n.alu,
            "sfu": n.sfu,
            "operands": 1.0,
            "tensor_operands": 1.0,
        },
    )
