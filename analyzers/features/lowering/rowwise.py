"""Softmax and normalisation: kernels that reduce every row and write it again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind

from . import Lowered, shape
from .elementwise import stored_type

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

NAMES = {Kind.SOFTMAX: "softmax", Kind.NORMALIZATION: "normalization"}


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Rows and columns of the reduced axes; a normalisation over several takes them as one."""
    name = NAMES.get(bound.kernel.kind)
    node = bound.kernel.anchor
    extents = shape(node.inputs[0] if node.inputs else None, env)
    if name is None or not extents or not math.prod(extents):
        return None
    axis = getattr(node.op, "axis", -1)
    if not isinstance(axis, int) or not -len(extents) <= axis < len(extents):
        return None
    inner = extents[axis:] if name == "normalization" and axis else (extents[axis],)
    cols = math.prod(inner)
    return Lowered(
        name,
        stored_type(bound.kernel.writes[0]) if bound.kernel.writes else bound.dtype.code,
        {"rows": math.prod(extents) / cols, "cols": float(cols)},
    )
