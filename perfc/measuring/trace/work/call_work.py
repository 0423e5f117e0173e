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

    ``is_chosen``: indices choose the rows; ``is_counted``: False if operations depend on data.
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
    """Return counts in which every tensor passes once."""
    read_bytes, write_bytes = (math.fsum(t.nbytes for t in side) for side in (read, written))
    least = mac if floor_mac is None else floor_mac
    return LaunchCounts(mac, least, alu, sfu, 0.0, read_bytes, write_bytes)
