"""ONNX Runtime's arena: best fit with coalescing, which grows by doubling.

Sizes are multiples of 256 B. The smallest free chunk that is large enough is taken, and cut where
it is twice as large or 128 MiB are left. The first region has 1 MiB, and each further one twice as
much as the one before, up to 1 GiB. A region doubles until it holds the request; for a request
above 1 GiB it has exactly its size.

Source: ONNX Runtime 1.2x, core/framework/bfc_arena.cc, ``kNextPowerOfTwo``.
"""

from __future__ import annotations

from . import Allocator, OutOfMemoryError
from .blocks import FreeBlocks, MemoryBlock, split

MIN_CHUNK = 256
"""``kMinAllocationSize``: sizes of chunks are multiples of it."""
FIRST_REGION = 1 << 20
"""``initial_chunk_size_bytes``: size of the first region."""
LARGEST_REGION = 1 << 30
"""``max_power_of_two_extend_bytes``: a larger request gets a region of its exact size."""
DEAD_BYTES = 128 << 20
"""``max_dead_bytes_per_chunk``: a chunk is cut if so much is left, even of less than twice the
request."""


class BfcArena(Allocator):
    """The arena of one device.

    Args:
        capacity_bytes: capacity in bytes of the device; None for no limit.
    """

    title = "ONNX Runtime's arena"

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.pool = FreeBlocks()
        self.given: dict[int, MemoryBlock] = {}
        self.next_address = 0
        self.next_region = FIRST_REGION

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a chunk."""
        size = max(-(-nbytes // MIN_CHUNK) * MIN_CHUNK, MIN_CHUNK)
        chunk = self.pool.best(size)
        if chunk is None:
            chunk = self.extend(size)
        else:
            self.pool.remove(chunk)
        # a chunk that is not cut keeps the rest, unused
        if chunk.nbytes >= 2 * size or chunk.nbytes - size >= DEAD_BYTES:
            self.pool.add(split(chunk, size))
        chunk.is_free = False
        self.given[key] = chunk
        self.allocated_bytes += chunk.nbytes

    def free(self, key: int) -> None:
        """Free a chunk."""
        chunk = self.given.pop(key)
        self.allocated_bytes -= chunk.nbytes
        self.pool.release(chunk)

    def extend(self, nbytes: int) -> MemoryBlock:
        """Reserve a region of the device."""
        # growing to fit counts as the doubling for the next region, which may so exceed the largest
        has_grown = False
        while nbytes > self.next_region:
            self.next_region *= 2
            has_grown = True
        region = self.next_region
        if nbytes > LARGEST_REGION:
            region = nbytes
        if self.capacity_bytes is not None:
            available = self.capacity_bytes - self.reserved_bytes
            if nbytes > available:
                raise OutOfMemoryError
            region = min(region, available)
        if not has_grown:
            self.next_region = min(2 * self.next_region, LARGEST_REGION)
        block = MemoryBlock(self.next_address, region)
        # a gap: regions are separate requests, whose addresses do not follow each other
        self.next_address += region + MIN_CHUNK
        self.reserved_bytes += region
        return block
