"""Element types in which an eager framework stores values under automatic mixed precision."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import ClassVar

from perfc.ir import Dim, DType, Kind, Module, Node, Value, frozen, record

from .. import Analysis
from ..fusion.fuse import Fuse
from ..fusion.kernel import Kernel
from ..manager import Analyses
from .retype import is_wide_float


class Policy(Enum):
    """Treatment of an operator by autocast."""

    NARROW = "narrow"
    """Operands are cast to the narrow type, and so is the result."""
    WIDE = "wide"
    """Operands are cast to f32, and the result is f32."""
    WIDE_INSIDE = "wide inside"
    """The kernel itself reads any type and writes f32."""
    WIDEST = "widest"
    """The result has the type of the widest operand; scalars and rank-0 tensors are ignored."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


NARROW_KINDS = frozenset({Kind.MATMUL, Kind.CONV, Kind.ATTENTION, Kind.RECURRENT})
"""Kinds that autocast runs in the narrow type: those with matrix units."""
FIRST_ONLY = frozenset({Kind.VIEW, Kind.POOL, Kind.GATHER, Kind.REDUCTION, Kind.NORMALIZATION})
"""Kinds whose result has the type of the first operand, whatever the parameters' types."""


def policy(kernel: Kernel) -> Policy:
    """Return autocast's treatment of the operator behind a kernel of the eager table."""
    from .autocast_operators import NARROW, WIDE, WIDE_INSIDE

    op = kernel.anchor.op
    if kernel.kind in NARROW_KINDS or isinstance(op, NARROW):
        return Policy.NARROW
    # PyTorch lists normalizations among the operators in f32
    if kernel.pattern.endswith("_norm"):
        return Policy.WIDE
    # any other pattern is an activation written out, which to PyTorch is one operator of no list
    if kernel.pattern:
        return Policy.WIDEST
    if isinstance(op, WIDE_INSIDE):
        return Policy.WIDE_INSIDE
    return Policy.WIDE if isinstance(op, WIDE) else Policy.WIDEST


@record
class StoredTypes:
    """Element types of values under autocast, and the policy of each kernel.

    Args:
        narrow: element type of products.
        types: element types of floating-point values that differ from the declared ones.
        policies: policies of each kernel's anchor.
    """

    narrow: DType
    types: Mapping[Value, DType]
    policies: Mapping[Node, Policy]

    def of(self, value: Value) -> DType:
        """Return the element type in which a value is stored."""
        return self.types.get(value, value.dtype)


@frozen
class Autocast(Analysis[StoredTypes]):
    """Element type of each stored value when a model with f32 weights runs under autocast.

    Products, convolutions and attention run narrow. Normalisation over features, sums, powers and
    exponentials run in f32. Other operators take the widest type of their operands, so that one
    added f32 parameter keeps a residual stream wide from there on. Batch normalisation keeps its
    input's type. Left out: disabled regions, and explicit casts in models.

    Source: PyTorch, Automatic Mixed Precision package, CUDA Op-Specific Behavior.
    """

    requires: ClassVar = (Fuse,)
    dtype: str = "f16"
    runtime: str = "eager"

    def run(self, module: Module, am: Analyses) -> StoredTypes:
        """Return types by value, computed kernel by kernel in the order of the eager table."""
        narrow = DType.BF16 if self.dtype == "bf16" else DType.F16
        table = am.get(Fuse(self.runtime), module)
        types: dict[Value, DType] = {}
        policies: dict[Node, Policy] = {}
        for kernel in table.kernels:
            chosen = policy(kernel)
            policies[kernel.anchor] = chosen
            if chosen is Policy.NARROW:
                result = narrow
            elif chosen is Policy.WIDEST:
                result = widest(kernel, types)
            else:
                result = DType.F32
            # all results of the kernel's nodes have its type, also inside the kernel
            for node in kernel.nodes:
                for v in node.results:
                    if is_wide_float(v.dtype):
                        types[v] = result
        return StoredTypes(narrow, types, policies)


def widest(kernel: Kernel, types: Mapping[Value, DType]) -> DType:
    """Return the type after promotion: the widest type of the operands with several elements."""
    floats = [v for v in kernel.reads if is_wide_float(v.dtype) and _takes_part(v.shape or ())]
    if kernel.anchor.op.kind in FIRST_ONLY:
        floats = floats[:1]
    dtypes = [types.get(v, v.dtype) for v in floats]
    return max(dtypes, key=lambda d: d.bits, default=DType.F32)


@lru_cache(maxsize=1 << 12)
def _takes_part(shape: tuple[Dim, ...]) -> bool:
    """Return True if an operand takes part in promotion: single numbers do not."""
    return any(d != 1 for d in shape)
