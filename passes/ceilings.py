"""Ceilings of a roofline, and what they say of one kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from perfc.ir.graph import Phase
from perfc.ir.record import record
from perfc.ir.types import DType

from .fuse import Kernel


class Ceiling(Enum):
    """What can bind a kernel."""

    MATRIX = "matrix units"
    VECTOR = "vector units"
    SPECIAL = "special functions"
    INTEGER = "integer units"
    L1 = "L1 cache"
    L2 = "L2 cache"
    DEVICE = "device memory"
    WAVES = "part-full waves"
    LAUNCH = "launches"

    __hash__ = object.__hash__


def vector_dtype(dtype: DType) -> DType:
    """Type of what a kernel computes beside its products.

    Theirs, or f16 where that is an integer or narrower: the narrowest that kernels add real numbers
    and take exponentials in, so that it gives a floor.
    """
    return dtype if dtype.is_float and dtype.bits >= 16 else DType.F16


@record
class Counts:
    """Operations and bytes of one launch as numbers.

    ``floor_mac`` is the least any algorithm does: minimal filtering, masked pairs left out.
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
        """Floating-point operations."""
        return 2 * self.mac + self.alu + self.sfu

    @property
    def nbytes(self) -> float:
        """Compulsory bytes."""
        return self.read_bytes + self.write_bytes


@record
class KernelBound:
    """Times of one kernel; all launches of one run together.

    Args:
        kernel: what runs.
        counts: of one launch.
        launches: in one run.
        floor: seconds each ceiling takes at the best rate the hardware can ever give.
        sustained: seconds each ceiling takes at measured rates (rated ones where none is).
        launch_gap_s: what launching adds where the kernel is shorter than its launch.
        device_bytes: bytes charged to device memory in ``sustained``.
        dtype: element type of the multiply–accumulates.
        tf32: whether those of f32 may be done in TF32.
    """

    kernel: Kernel
    counts: Counts
    launches: float
    floor: Mapping[Ceiling, float]
    sustained: Mapping[Ceiling, float]
    launch_gap_s: float
    device_bytes: float
    dtype: DType
    tf32: bool = True

    def of(self, kernel: Kernel) -> KernelBound:
        """The same of a kernel that differs in names and place alone."""
        return KernelBound(
            kernel, self.counts, self.launches, self.floor, self.sustained, self.launch_gap_s,
            self.device_bytes, self.dtype, self.tf32,
        )  # fmt: skip

    @property
    def vector_dtype(self) -> DType:
        """Element type of what is computed beside them."""
        return vector_dtype(self.dtype)

    @property
    def is_wide(self) -> bool:
        """Whether it multiplies in f32 without TF32."""
        return self.dtype is DType.F32 and self.counts.mac > 0 and not self.tf32

    @property
    def is_gradient(self) -> bool:
        """Whether the kernel is of a backward pass."""
        return self.kernel.anchor.loc.phase is Phase.BACKWARD

    @property
    def floor_s(self) -> float:
        """Lower bound of the kernel's time."""
        return max(self.floor.values(), default=0.0)

    @property
    def sustained_s(self) -> float:
        """Time at measured rates, without launching."""
        return max(self.sustained.values(), default=0.0)

    @property
    def time_s(self) -> float:
        """Time at measured rates with its launch."""
        return self.sustained_s + self.launch_gap_s

    @property
    def binding(self) -> Ceiling:
        """What most of the time at measured rates goes to; launching where it takes longer."""
        return Ceiling.LAUNCH if self.launch_gap_s > self.sustained_s else self.busiest

    @property
    def idle_share(self) -> float:
        """Part of the sustained time that whole waves would spare."""
        waves_s = self.sustained.get(Ceiling.WAVES, 0.0)
        return max(1 - self.sustained.get(self.unit, 0.0) / waves_s, 0.0) if waves_s else 0.0

    @property
    def unit(self) -> Ceiling:
        """The ceiling that would bind with whole waves; launches where nothing keeps it busy."""
        others = {c: t for c, t in self.sustained.items() if c is not Ceiling.WAVES}
        return max(others, key=others.__getitem__, default=Ceiling.LAUNCH)

    @property
    def busiest(self) -> Ceiling:
        """What most of the kernel's time goes to while it runs: waves where most of it is idle."""
        return Ceiling.WAVES if self.idle_share > 0.5 else self.unit

    @property
    def margin(self) -> float:
        """How many times longer the binding ceiling takes than the next."""
        times = sorted((*self.sustained.values(), 0.0), reverse=True)
        return times[0] / times[1] if len(times) > 1 and times[1] > 0 else math.inf

    @property
    def intensity_flop_per_byte(self) -> float | None:
        """Flop per compulsory byte, None where nothing moves."""
        return self.counts.flop / self.counts.nbytes if self.counts.nbytes else None


def lowered(side: Sequence[KernelBound], least_s: float) -> list[KernelBound]:
    """One side of a branch with floors such that the other side cannot be below them."""
    total_s = math.fsum(k.floor_s for k in side)
    if total_s <= least_s:
        return list(side)
    share = least_s / total_s
    return [replace(k, floor={c: t * share for c, t in k.floor.items()}) for k in side]
