"""Lower bounds and roofline times of many kernels of one element type on one machine, as arrays."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir.tensors.types import BY_CODE
from perfc.passes.roofline.floor import Floors

from .rows import Protocol

if TYPE_CHECKING:
    from .classes import Amounts, Array
    from .sheet import Sheet


GRAPH_LATENCY_S = constants_next_to(__file__)["graph_latency_s"].number
"""Time of the shortest kernel in a recorded graph, which no data sheet has."""


def latency_s(protocol: Protocol, sheet: Sheet) -> float:
    """Return the time of a kernel without work under a protocol, as an order of magnitude."""
    match protocol:
        case Protocol.EAGER:
            return sheet.launch_s
        # these times are of the device, without the host's launch
        case Protocol.GRAPH | Protocol.KERNELS | Protocol.STEP:
            return GRAPH_LATENCY_S


def matrix_flop_per_s(dtype: str, sheet: Sheet) -> float:
    """Return the rated matrix rate of a type.

    Products that run in TF32 have the type ``tf32``; those of type ``f32`` may not use it.
    """
    return sheet.matrix_flop_per_s(dtype, tf32=dtype != "f32")


def beyond_l2(nbytes: Array, sheet: Sheet) -> Array:
    """Return the share of bytes that pass device memory, as the last cache does not hold them.

    It rises linearly from 0 at half of the capacity of the cache to 1 at one and a half times the
    capacity. The ramp has no source: it replaces the jump of a cache that holds all bytes or none.
    """
    share: Array = np.clip(nbytes / max(sheet.l2_bytes, 1.0) - 0.5, 0, 1)
    return share


def ceilings_s(amounts: Amounts, dtype: str, sheet: Sheet) -> dict[str, Array]:
    """Return the time under each ceiling of the roofline, at the rates of the data sheet.

    All bytes count both for the last cache and for device memory.
    """
    nbytes = amounts.read_bytes + amounts.write_bytes
    # vector units compute 8-bit and integer types in f32
    vector = dtype if dtype.startswith(("f16", "bf16", "f32", "f64")) else "f32"
    return {
        "matrix": 2 * amounts.mac / matrix_flop_per_s(dtype, sheet),
        "vector": amounts.alu / sheet.vector_flop_per_s(vector),
        "special": amounts.sfu / sheet.special_op_per_s(vector),
        "l2": nbytes / sheet.l2_bytes_per_s,
        "device": nbytes / sheet.device_bytes_per_s,
    }


def roofline_s(amounts: Amounts, dtype: str, sheet: Sheet) -> Array:
    """Return the longest of the times of `ceilings_s`."""
    time_s: Array = np.maximum.reduce(list(ceilings_s(amounts, dtype, sheet).values()))
    return time_s


def floor_s(amounts: Amounts, dtype: str, sheet: Sheet) -> Array:
    """Return the lower bound of each kernel; `perfc.passes.roofline.floor` derives it."""
    times_s = Floors(sheet.machine, tf32=dtype != "f32").times_s(amounts, BY_CODE[dtype])
    largest: Array = reduce(np.maximum, times_s.values())
    return largest
