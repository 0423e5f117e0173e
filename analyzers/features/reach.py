"""Sustained rates of kernels of common libraries relative to rated ones; times of eager calls.

These are rules with few constants (lab/notes/eager_kernels.md). They give physical estimates, whose
remaining error predictors learn; no lower bound depends on the rules.
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
"""Launch overhead of the hosts of ``EAGER_CALL_S``, and of target files without a measured one."""
_FITTED = constants_next_to(__file__)
EAGER_CALL_S: Mapping[str, float] = _FITTED["eager_call_s"].by_name
"""Time of one eager call by kernel class, on hosts with a launch overhead of `USUAL_LAUNCH_S`."""
VENDOR_CALLS: Mapping[str, float] = _FITTED["vendor_calls"].by_name
"""Time of an eager call of a framework's kernels relative to one on NVIDIA GPUs, by vendor.
Calls of libraries take as long as on NVIDIA GPUs."""
NORM = _FITTED["call_norm"].number
"""Order of the norm that joins a call and its kernel, which overlap a little."""
PLAIN_SHARE, POOR_SHARE = _FITTED["streamed_shares"].numbers
"""Shares of the rated bandwidth that elementwise kernels on large tensors reach: on Volta and later
generations, and on Pascal and Turing."""
OLD_SHARE = _FITTED["old_share"].number
"""Rate of FP32 products on Maxwell and Pascal relative to the rate on later generations."""
UNIFIED_CACHE = 7.0
"""First compute capability whose shared memory is part of the first-level cache."""


def memory_bytes_per_s(sheet: Sheet) -> float:
    """Return the bandwidth of element-wise kernels on tensors far larger than the caches.

    Machines reach 0.88 of the rated bandwidth. Pascal and Turing reach 0.74, as their memory
    transfers its error correction in band or they have fewer loads in flight.
    """
    # generation 0 is no CUDA machine; 7.5 is Turing
    poor = 0 < sheet.generation < UNIFIED_CACHE or sheet.generation == 7.5
    return (POOR_SHARE if poor else PLAIN_SHARE) * sheet.device_bytes_per_s


def single_flop_per_s(sheet: Sheet) -> float:
    """Return the sustained rate of FP32 products without TF32.

    It is the peak rate times the square root of base over boost clock, as boards of 70 W run near
    their base clock under load. It is less on a multiprocessor whose 128 lanes have the shared
    memory of 64, and on GPUs before Volta, which have kernels of another generation.
    """
    peak = sheet.matrix_flop_per_s("f32", tf32=False)
    # FP32 multiply–adds of a multiprocessor per clock
    lanes = peak / (2 * sheet.sm_count * sheet.clock_hz)
    old = 0 < sheet.generation < UNIFIED_CACHE
    # 128 lanes with the shared memory of 64 reach 2**-0.25 = 0.84 of their rate
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
    """Return the time of a call of a kernel without work.

    Args:
        protocol: protocol by which the call is timed.
        sheet: sheet of the machine; its launch overhead represents the host.
        eager_s: time of one eager call of the class on the measured hosts.
        is_own: True if the kernel is the framework's, False if it is a library's.
    """
    if protocol is Protocol.EAGER:
        # all calls of a host are shorter by the ratio by which its launch overhead is shorter
        share = VENDOR_CALLS.get(sheet.machine.vendor, 1.0) if is_own else 1.0
        return eager_s * share * sheet.launch_s / USUAL_LAUNCH_S
    return physics.latency_s(protocol, sheet)


CATEGORIES = ("launch", "body")
"""Kernels whose time is mostly that of the call, and other kernels. Their intervals are calibrated
separately, as no data sheet has the host's launch time."""
LAUNCH_SHARE = 1 / 3
"""Ratio of the time of a kernel's body to that of its call up to which the call mostly hides the
body."""


def category(body: Array, eager_s: float) -> NDArray[np.intp]:
    """Return the index into `CATEGORIES` of every kernel.

    Args:
        body: seconds of the kernel without its call.
        eager_s: time of one eager call of the class.
    """
    return (body > LAUNCH_SHARE * eager_s).astype(np.intp)


def joined_s(call: Array | float, body: Array) -> Array:
    """Return the time of a call and the body of its kernel, joined by a norm of order `NORM`."""
    joined: Array = (call**NORM + body**NORM) ** (1 / NORM)
    return joined
