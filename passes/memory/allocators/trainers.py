"""Allocator of trainers: PyTorch's with segments that grow, which leave little unused.

Source: PyTorch, ``PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True``.
"""

from __future__ import annotations

from perfc.common.fitted import constants_next_to

from .planned import Planned

FRAGMENTS = constants_next_to(__file__)["fragments"].number
"""Ratio of reserved to planned bytes, near one: segments that grow leave little unused."""


class Expandable(Planned):
    """Memory of a run in segments that grow.

    Args:
        capacity_bytes: capacity in bytes of the device; None for no limit.
    """

    title = "PyTorch's caching allocator with expandable segments"

    def __init__(self, capacity_bytes: int | None = None) -> None:
        super().__init__(None if capacity_bytes is None else int(capacity_bytes / FRAGMENTS))
        self.planned_bytes = 0

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a buffer."""
        # the plan's peak grows without the factor, which is applied to the result
        self.reserved_bytes = self.planned_bytes
        super().allocate(key, nbytes)
        self.planned_bytes = self.reserved_bytes
        self.reserved_bytes = int(self.planned_bytes * FRAGMENTS)
