"""Sustained over rated rates of kernels of common libraries, and the cost of an eager call.

Rules with few constants (lab/notes/eager_kernels.md) for physical estimates, whose remaining error
predictors learn. No lower bound depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to

from . import physics
from .rows import Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .classes import Array
    from .sheet import Sheet

USUAL_LAUNCH_S = 5e-6
"""Launch overhead that target files assume where it was not measured, and that of the hosts of
``EAGER_CALL_S``."""
_FITTED = constants_next_to(__file__)
EAGER_CALL_S: Mapping[str, float] = _FITTED["eager_call_s"].by_name
"""Time of one eager call by class, on the hosts that were measured."""
VENDOR_CALLS: Mapping[str, float] = _FITTED["vendor_calls"].by_name
"""Ratio of an eager call of a framework's kernels to one on NVIDIA GPUs, by vendor. Calls of
libraries take as long as there."""
NORM = _FITTED["call_norm"].number
"""Order of the norm that joins a call and its kernel, which overlap a little."""
PLAIN_SHARE, POOR_SHARE = _FITTED["streamed_shares"].numbers
"""Shares of the rated bandwidth that kernels reach: on Volta and later, on Pascal and Turing."""
OLD_SHARE = _FITTED["old_share"].number
"""Ratio of FP32 products on Maxwell and Pascal to those on Volta and later."""
UNIFIED_CACHE = 7.0
"""First compute capability whose shared memory is part of the first-level cache."""


def memory_bytes_per_s(sheet: Sheet) -> float:
    """Return the bandwidth of element-wise kernels on tensors far larger than the caches.

    Volta and later data-centre machines reach 0.88 of the rated one, Pascal and Turing, whose
    memory carries its error correction in band or has fewer loads in flight, 0.74.
    """
    # generation 0 is no CUDA machine; 7.5 is Turing
    poor = 0 < sheet.generation < UNIFIED_CACHE or sheet.generation == 7.5
    return (POOR_SHARE if poor else PLAIN_SHARE) * sheet.device_bytes_per_s


def single_flop_per_s(sheet: Sheet) -> float:
    """Return the sustained rate of FP32 products without TF32.

    That is the peak rate times the root of base over boost clock, as boards of 70 W run near their
    base clock under load; less if a multiprocessor has 128 lanes on shared memory for 64, or before
    Volta, whose kernels are of another generation.
    """
    peak = sheet.matrix_flop_per_s("f32", tf32=False)
    # FP32 multiply–adds of a multiprocessor per clock
    lanes = peak / (2 * sheet.sm_count * sheet.clock_hz)
    old = 0 < sheet.generation < UNIFIED_CACHE
    share = OLD_SHARE if old else (64 / max(lanes, 64.0)) ** 0.25
    return peak * float(sheet.base_clock_share**0.5 * share)


def read_cache_bytes(sheet: Sheet) -> float:
    """Return the capacity of the caches in which rows stay between two passes of a kernel."""
    first = sheet.l1_bytes
    if sheet.generation < UNIFIED_CACHE:
        # target files count shared memory with the first level, but there it is a separate memory
        first = max(first - sheet.sm_count * sheet.shared_memory_bytes, 0.0)
    return max(sheet.l2_bytes + first, 1.0)


def call_s(protocol: Protocol, sheet: Sheet, eager_s: float, *, is_own: bool = False) -> float:
    """Return the time of a call that does no work.

    Args:
        protocol: how the call is timed.
        sheet: sheet of the machine; its launch overhead represents the host.
        eager_s: time of one eager call of the class on the measured hosts.
        is_own: True if the kernel is the framework's, False if it is a library's.
    """
    if protocol is Protocol.EAGER:
        # a faster host has a shorter launch overhead, and all its calls are shorter by that ratio
        share = VENDOR_CALLS.get(sheet.machine.vendor, 1.0) if is_own else 1.0
        return eager_s * share * sheet.launch_s / USUAL_LAUNCH_S
    return physics.latency_s(protocol, sheet)


CATEGORIES = ("launch", "body")
"""Kernels by the part that bounds them, calibrated separately, as no data sheet has the host's
launch time."""
LAUNCH_SHARE = 1 / 3
"""Share of a call below which it hides the body."""


def category(body: Array, eager_s: float) -> NDArray[np.intp]:
    """Return the index into `CATEGORIES` of every kernel.

    Args:
        body: seconds of the kernel without its call.
        eager_s: time of one eager call of the class.
    """
    return (body > LAUNCH_SHARE * eager_s).astype(np.intp)


def joined_s(call: Array | float, body: Array) -> Array:
    """Return the time of a call and its kernel, joined by a norm."""
    joined: Array = (call**NORM + body**NORM) ** (1 / NORM)
    return joined
