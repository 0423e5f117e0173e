"""Buffers placed before the run, as by engines that know all buffers in advance.

An ideal plan: the device holds the largest total that is live at one time, each buffer rounded up
to 256 B. Left out: gaps that no plan can avoid.
"""

from __future__ import annotations

from . import Allocator, OutOfMemoryError

ALIGNMENT = 256
"""Bytes to which buffers are aligned: ``cudaMalloc`` aligns to at least 256.

Source: CUDA C++ Programming Guide.
"""


class Planned(Allocator):
    """Memory of a plan.

    Args:
        capacity_bytes: capacity in bytes of the device; None for no limit.
    """

    title = "a plan made before the run"

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.given: dict[int, int] = {}

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a buffer."""
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        self.allocated_bytes += size
        self.given[key] = size
        self.reserved_bytes = max(self.reserved_bytes, self.allocated_bytes)
        if self.capacity_bytes is not None and self.reserved_bytes > self.capacity_bytes:
            raise OutOfMemoryError

    def free(self, key: int) -> None:
        """Free a buffer."""
        self.allocated_bytes -= self.given.pop(key)
