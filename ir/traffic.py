"""Compulsory traffic of operators that do not read or write each tensor exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .cost import NO_TRAFFIC, Parts, Traffic, dim_sum
from .graph import Inputs, Value
from .op import ABSENT, Types, each_once, tensor
from .symbolic.dim import Dim, dim_min
from .tensors.types import DType, TensorType, Type, element_count, storage_bytes


def stored(type_: Type) -> Dim | None:
    """Return the bytes of a whole tensor; None if unknown, 0 for an unused output."""
    if type_ is ABSENT:
        return 0
    return type_.nbytes if isinstance(type_, TensorType) else None


def packed(count: Dim | None, dtype: DType) -> Dim | None:
    """Return the bytes of ``count`` elements; None if unknown."""
    return None if count is None or dtype.bits == 0 else storage_bytes(count, dtype.bits)


def lesser(a: Dim | None, b: Dim | None) -> Dim | None:
    """Return the smaller of two amounts, or the known one if the other is unknown."""
    if a is None or b is None:
        return b if a is None else a
    return dim_min(a, b)


def taken(source: Type, result: Type) -> Dim | None:
    """Return bytes of ``source`` that must be read to produce ``result`` from its elements."""
    if not isinstance(source, TensorType) or not isinstance(result, TensorType):
        return None
    # each element of the result copies one of the source, which is read at most once as a whole
    wanted = None if result.shape is None else element_count(result.shape)
    return packed(lesser(source.numel, wanted), source.dtype)


def rows_read(table: TensorType, taken: Dim, axis: int = 0) -> Dim | None:
    """Return bytes of ``taken`` rows of a table along an axis, at most the whole table.

    None if its shape is unknown.
    """
    if not table.shape:
        return None
    row = element_count(table.shape[:axis] + table.shape[axis + 1 :])
    return packed(dim_min(taken, table.shape[axis]) * row, table.dtype)


def parts_once(ins: Inputs, in_part: Mapping[int, Dim | None]) -> Parts:
    """Return bytes read of each distinct operand by position, whole or as ``in_part`` says.

    An amount of None there leaves the operand whole; one of unknown size counts 0.
    """
    parts: dict[int, Dim] = {}
    first: dict[Value, int] = {}
    for i, v in enumerate(ins):
        if v is not None and first.setdefault(v, i) == i:
            part = in_part.get(i)
            parts[i] = (v.nbytes or 0) if part is None else part
    return parts


def moved(read: Iterable[Dim | None], written: Iterable[Dim | None]) -> Traffic:
    """Return the traffic of given byte counts, a lower bound if any of them is unknown."""
    # unknown amounts count 0 in the sums
    reads, writes = list(read), list(written)
    return Traffic(
        dim_sum(r for r in reads if r is not None),
        dim_sum(w for w in writes if w is not None),
        None in reads or None in writes,
    )


def unmoved(_op: object, ins: Inputs, outs: Types) -> Traffic:
    """Return the traffic of an operator that reads and writes nothing in device memory."""
    return NO_TRAFFIC


def result_once(_op: object, ins: Inputs, outs: Types) -> Traffic:
    """Return the traffic of an operator that only writes."""
    return each_once((), outs)


def first_once(_op: object, ins: Inputs, outs: Types) -> Traffic:
    """Return the traffic of an operator that reads only its first operand, once."""
    return moved([stored(tensor(ins, 0))], [stored(outs[0])])


def first_taken(_op: object, ins: Inputs, outs: Types) -> Traffic:
    """Return the traffic of an operator that reads no more of its operand than it writes."""
    return moved([taken(tensor(ins, 0), outs[0])], [stored(outs[0])])
