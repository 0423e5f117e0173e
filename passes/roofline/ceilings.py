"""Ceilings of a roofline, and the times of one kernel under them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from perfc.ir import DType, Phase, record
from perfc.ir.record import changed

from ..fusion.kernel import Kernel


class Ceiling(Enum):
    """A limit of the hardware that can bind a kernel."""

    MATRIX = "matrix units"
    VECTOR = "vector units"
    SPECIAL = "special functions"
    INTEGER = "integer units"
    L1 = "L1 cache"
    L2 = "L2 cache"
    DEVICE = "device memory"
    WAVES = "partial waves"
    LAUNCH = "launches"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


def vector_dtype(dtype: DType) -> DType:
    """Return the element type of a kernel's vector operations.

    It is the type of the products, or f16 if that type is an integer or has fewer than 16 bits:
    kernels add real numbers and take exponentials in no narrower type than f16. The time at this
    type is a lower bound.
    """
    return dtype if dtype.is_float and dtype.bits >= 16 else DType.F16


@record
class LaunchCounts:
    """Operations and bytes of one launch as numbers.

    Args:
        mac: multiply–accumulates.
        floor_mac: multiply–accumulates of the algorithm that needs the fewest: minimal filtering
            of convolutions, no masked pairs in attention.
        alu: operations of the vector unit.
        sfu: operations of the special-function unit.
        integer: operations on integers.
        read_bytes: compulsory bytes read.
        write_bytes: compulsory bytes written.
    """

    mac: float
    floor_mac: float
    alu: float
    sfu: float
    integer: float
    read_bytes: float
    write_bytes: float

    @property
    def flop(self) -> float:
        """Return the floating-point operations."""
        return 2 * self.mac + self.alu + self.sfu

    @property
    def nbytes(self) -> float:
        """Return the compulsory bytes."""
        return self.read_bytes + self.write_bytes


@record
class KernelBound:
    """Times of one kernel; sums over all its launches in one run.

    Args:
        kernel: kernel of these times.
        counts: work and traffic of one launch.
        launches: launches in one run.
        floor: seconds under each ceiling at the highest rate the hardware can reach.
        sustained: seconds under each ceiling at measured rates (rated ones if none is measured).
        launch_gap_s: launch overhead, if the kernel is shorter than its launch.
        device_bytes: bytes charged to device memory in ``sustained``.
        dtype: element type of the multiply–accumulates.
        tf32: whether f32 multiply–accumulates may use TF32.
    """

    kernel: Kernel
    counts: LaunchCounts
    launches: float
    floor: Mapping[Ceiling, float]
    sustained: Mapping[Ceiling, float]
    launch_gap_s: float
    device_bytes: float
    dtype: DType
    tf32: bool = True

    def of(self, kernel: Kernel) -> KernelBound:
        """Return the bounds of a duplicate kernel, which differs in names and position only."""
        return changed(self, kernel=kernel)

    @property
    def vector_dtype(self) -> DType:
        """Return the element type of vector operations."""
        return vector_dtype(self.dtype)

    @property
    def is_wide(self) -> bool:
        """Return True if it multiplies in f32 without TF32."""
        return self.dtype is DType.F32 and self.counts.mac > 0 and not self.tf32

    @property
    def is_gradient(self) -> bool:
        """Return True if the kernel belongs to a backward pass."""
        return self.kernel.anchor.loc.phase is Phase.BACKWARD

    @property
    def floor_s(self) -> float:
        """Return the lower bound of the kernel's time."""
        return max(self.floor.values(), default=0.0)

    @property
    def sustained_s(self) -> float:
        """Return the time at measured rates without launch overhead."""
        return max(self.sustained.values(), default=0.0)

    @property
    def time_s(self) -> float:
        """Return the time at measured rates with launch overhead."""
        return self.sustained_s + self.launch_gap_s

    @property
    def binding(self) -> Ceiling:
        """Return the ceiling with the longest time at measured rates, or launching."""
        return Ceiling.LAUNCH if self.launch_gap_s > self.sustained_s else self.busiest

    @property
    def idle_share(self) -> float:
        """Return the share of the sustained time lost to partly filled waves."""
        waves_s = self.sustained.get(Ceiling.WAVES, 0.0)
        return max(1 - self.sustained.get(self.unit, 0.0) / waves_s, 0.0) if waves_s else 0.0

    @property
    def unit(self) -> Ceiling:
        """Return the ceiling that would bind with full waves; launching of an empty kernel."""
        others = self.sustained
        if Ceiling.WAVES in others:
            others = {c: t for c, t in others.items() if c is not Ceiling.WAVES}
        return max(others, key=others.__getitem__, default=Ceiling.LAUNCH)

    @property
    def busiest(self) -> Ceiling:
        """Return the ceiling that takes longest; partial waves if most of the time is idle."""
        return Ceiling.WAVES if self.idle_share > 0.5 else self.unit

    @property
    def margin(self) -> float:
        """Return the time under the binding ceiling divided by the time under the next."""
        # a ceiling that is alone has 0 as the next
        times = sorted((*self.sustained.values(), 0.0), reverse=True)
        return times[0] / times[1] if len(times) > 1 and times[1] > 0 else math.inf

    @property
    def intensity_flop_per_byte(self) -> float | None:
        """Return FLOPs per compulsory byte, None without traffic."""
        return self.counts.flop / self.counts.nbytes if self.counts.nbytes else None


def lowered(side: Sequence[KernelBound], least_s: float) -> list[KernelBound]:
    """Return the kernels of one side of a branch; their lower bounds add up to ``least_s`` at most.

    Args:
        side: kernels of the side.
        least_s: lower bound of the other side.
    """
    total_s = math.fsum(k.floor_s for k in side)
    if total_s <= least_s:
        return list(side)
    # the other side may run instead, so the bound of the branch is that of the shorter side
    share = least_s / total_s
    return [replace(k, floor={c: t * share for c, t in k.floor.items()}) for k in side]
