"""PyTorch's caching allocator on CUDA, without expandable segments.

Sizes are multiples of 512 B. Up to 1 MiB come out of segments of 2 MiB, below 10 MiB out of
segments of 20 MiB, larger ones have separate segments, multiples of 2 MiB. The smallest free
block that is large enough is taken, and cut where the rest can serve: any rest of a small one, more
than 1 MiB of a large one. Nothing is given back until the device has no more.

Source: PyTorch 2, c10/cuda/CUDACachingAllocator.cpp.
"""

from __future__ import annotations

from . import Allocator, OutOfMemoryError
from .blocks import FreeBlocks, MemoryBlock, split

MIN_BLOCK = 512
"""``kMinBlockSize``: sizes are multiples of it."""
SMALL = 1 << 20
"""``kSmallSize``: largest size that the pool of small blocks serves."""
SMALL_SEGMENT = 2 << 20
"""``kSmallBuffer``: segment of small blocks."""
LARGE_SEGMENT = 20 << 20
"""``kLargeBuffer``: segment of blocks below `OWN_SEGMENT`."""
OWN_SEGMENT = 10 << 20
"""``kMinLargeAlloc``: a block of this size or above has a segment to itself."""
ROUND_SEGMENT = 2 << 20
"""``kRoundLarge``: segments of single blocks are multiples of it."""


def rounded(nbytes: int) -> int:
    """Return the bytes that a tensor takes.

    >>> rounded(1), rounded(513)
    (512, 1024)
    """
    return max(-(-nbytes // MIN_BLOCK) * MIN_BLOCK, MIN_BLOCK)


def segment_bytes(nbytes: int) -> int:
    """Return the segment size requested from the device for a rounded size.

    >>> [segment_bytes(n) >> 20 for n in (512, 2 << 20, 11 << 20)]
    [2, 20, 12]
    """
    if nbytes <= SMALL:
        return SMALL_SEGMENT
    if nbytes < OWN_SEGMENT:
        return LARGE_SEGMENT
    return -(-nbytes // ROUND_SEGMENT) * ROUND_SEGMENT


class CudaCaching(Allocator):
    """The allocator of one device.

    Args:
        capacity_bytes: device memory without that of other processes; None for no limit.
    """

    title = "PyTorch's caching allocator"

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.small, self.large = FreeBlocks(), FreeBlocks()
        self.given: dict[int, tuple[MemoryBlock, FreeBlocks]] = {}
        self.next_address = 0

    def pool(self, nbytes: int) -> FreeBlocks:
        """Return the pool that is searched for a rounded size."""
        return self.small if nbytes <= SMALL else self.large

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a block."""
        size = rounded(nbytes)
        pool = self.pool(size)
        block = pool.best(size)
        if block is None:
            block = self.segment(segment_bytes(size))
        else:
            pool.remove(block)
        rest = block.nbytes - size
        # ``should_split`` of the source
        if rest > SMALL or (size <= SMALL and rest >= MIN_BLOCK):
            pool.add(split(block, size))
        block.is_free = False
        self.given[key] = block, pool
        self.allocated_bytes += block.nbytes

    def free(self, key: int) -> None:
        """Free a block."""
        block, pool = self.given.pop(key)
        self.allocated_bytes -= block.nbytes
        pool.release(block)

    def segment(self, nbytes: int) -> MemoryBlock:
        """Reserve a segment of the device; if it is full, free unused segments first."""
        if self.capacity_bytes is not None and self.reserved_bytes + nbytes > self.capacity_bytes:
            self.give_back()
            if self.reserved_bytes + nbytes > self.capacity_bytes:
                raise OutOfMemoryError
        block = MemoryBlock(self.next_address, nbytes)
        # a gap: segments are separate requests, whose addresses do not follow each other
        self.next_address += nbytes + ROUND_SEGMENT
        self.reserved_bytes += nbytes
        return block

    def give_back(self) -> None:
        """Return segments without an allocated block to the device."""
        for pool in (self.small, self.large):
            # the device takes back whole segments only
            for block in [b for b in pool.blocks.values() if b.is_whole]:
                pool.remove(block)
                self.reserved_bytes -= block.nbytes
