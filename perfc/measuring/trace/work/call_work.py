"""Operations and bytes of one call of an operator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perfc.ir import DType, record
from perfc.passes.roofline.ceilings import LaunchCounts

from .operands import OperandTensor


@record
class CallWork:
    """Operations and bytes of one call, and its class and extents for predictors.

    Args:
        counts: operations and bytes.
        dtype: element type that it is computed in.
        class_name: class of the operator predictor; empty if none.
        extents: parameters of the class; None without one.
        is_chosen: whether indices choose the rows that are read or written.
        is_counted: False if the number of operations depends on data.
    """

    counts: LaunchCounts
    dtype: DType
    class_name: str = ""
    extents: Mapping[str, float] | None = None
    is_chosen: bool = False
    is_counted: bool = True


def counts_of(
    read: Sequence[OperandTensor],
    written: Sequence[OperandTensor],
    *,
    mac: float = 0.0,
    floor_mac: float | None = None,
    alu: float = 0.0,
    sfu: float = 0.0,
) -> LaunchCounts:
    """Return counts in which every tensor passes once; integer operations are not counted.

    Args:
        read: tensors that are read.
        written: tensors that are written.
        mac: multiply-accumulates.
        floor_mac: those that no algorithm saves; ``mac`` if None.
        alu: other arithmetic.
        sfu: special functions.
    """
    read_bytes, write_bytes = (math.fsum(t.nbytes for t in side) for side in (read, written))
    least = mac if floor_mac is None else floor_mac
    return LaunchCounts(mac, least, alu, sfu, 0.0, read_bytes, write_bytes)
