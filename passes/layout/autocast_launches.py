"""Casts that autocast launches before kernels whose operands are stored in another type."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import DType, Module, record

from ..fusion.fuse import Fuse
from ..fusion.kernel import Kernel
from ..manager import Analyses
from ..precision.autocast import NARROW_KINDS, Autocast, Policy, StoredTypes
from ..runtimes import Steps, runtime

NARROW_BITS = 16
"""Bits of f16 and bf16, the types that autocast narrows to."""


@record
class OperandCast:
    """The cast of an operand of a kernel.

    Args:
        position: position of the operand among the kernel's reads.
        stored: element type in memory.
        read: element type that the kernel reads.
    """

    position: int
    stored: DType
    read: DType


Casts = tuple[tuple[OperandCast, ...], ...]
"""Casts before each kernel of a table."""


def casts_of(wide: Module, am: Analyses, dtype: str, table_name: str) -> Casts:
    """Return the casts before each kernel of a model under autocast.

    A compiled framework casts activations inside of the loops that make them.

    Args:
        wide: the model, its floating-point tensors in f32.
        am: gives kernels and stored types.
        dtype: element type of products.
        table_name: fusion table.
    """
    compiled = runtime(table_name).steps is Steps.COMPILED
    # a compiled framework stores the types of an eager one, so its fusion table does not matter
    stored = am.get(Autocast(dtype) if compiled else Autocast(dtype, table_name), wide)
    kernels = am.get(Fuse(table_name), wide).kernels
    return tuple([tuple(casts_before(k, stored, compiled=compiled)) for k in kernels])


def casts_before(
    kernel: Kernel, stored: StoredTypes, *, compiled: bool = False
) -> Iterator[OperandCast]:
    """Yield the casts of a kernel's operands."""
    policy = stored.policies.get(kernel.anchor, Policy.WIDEST)
    # a pattern of several operators may be a product as a whole, which reads narrow operands
    policy = Policy.NARROW if kernel.kind in NARROW_KINDS else policy
    for i, v in enumerate(kernel.reads):
        before = stored.of(v)
        if not before.is_float:
            continue
        is_activation = v.weight is None
        after = before
        # tensors of rank 0 keep their type
        if policy is Policy.NARROW and before.bits > NARROW_BITS and v.shape:
            after = stored.narrow
        elif policy is Policy.WIDE and before.bits <= NARROW_BITS and is_activation:
            after = DType.F32
        # compiled loops cast activations where they compute them
        if after is not before and not (compiled and is_activation):
            yield OperandCast(i, before, after)
