"""The heap of the C library: best fit with coalescing, whose top grows and shrinks.

Requests above a threshold have separate pages, which go back to the system when they are freed and
raise the threshold to their size. Free memory below a block in use stays with the process.

Source: glibc 2.36, malloc/malloc.c, ``M_MMAP_THRESHOLD`` and ``M_TRIM_THRESHOLD``.
"""

from __future__ import annotations

from . import Allocator
from .blocks import FreeBlocks, MemoryBlock, split

ALIGNMENT = 16
"""``MALLOC_ALIGNMENT``: blocks with their header of 8 bytes are multiples of it."""
FIRST_THRESHOLD = 128 << 10
"""``DEFAULT_MMAP_THRESHOLD_MIN``: threshold of separate pages before the first is freed."""
LARGEST_THRESHOLD = 32 << 20
"""``DEFAULT_MMAP_THRESHOLD_MAX``: larger blocks do not raise the threshold."""
LEAST_REST = 32
"""``MINSIZE``: a rest of no more than that stays with its block."""


class Heap(Allocator):
    """The heap of one process, with pages mapped next to it.

    Args:
        capacity_bytes: not used: the system grants every request.
    """

    title = "the C library's heap"

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.pool = FreeBlocks()
        self.given: dict[int, MemoryBlock] = {}
        # bytes of separate pages by key, and the block at the top of the heap
        self.mapped: dict[int, int] = {}
        self.last: MemoryBlock | None = None
        self.threshold = FIRST_THRESHOLD
        self.peak_bytes = 0

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a block, or pages of its size."""
        # with the header of 8 bytes
        size = -(-(nbytes + 8) // ALIGNMENT) * ALIGNMENT
        self.allocated_bytes += size
        # separate pages, which go back to the system when they are freed
        if size >= self.threshold:
            self.mapped[key] = size
            self.reserved_bytes += size
        else:
            block = self.pool.best(size)
            if block is None:
                block = self.grown(size)
            else:
                self.pool.remove(block)
            if block.nbytes > size + LEAST_REST:
                rest = split(block, size)
                self.last = rest if block is self.last else self.last
                self.pool.add(rest)
            block.is_free = False
            self.given[key] = block
        self.peak_bytes = max(self.peak_bytes, self.reserved_bytes)

    def grown(self, size: int) -> MemoryBlock:
        """Return a new block at the top of the heap, or the free top block grown to this size."""
        last = self.last
        if last is not None and last.is_free:
            self.pool.remove(last)
            self.reserved_bytes += size - last.nbytes
            last.nbytes = size
            return last
        block = MemoryBlock(last.address + last.nbytes if last else 0, size)
        block.before = last
        if last is not None:
            last.after = block
        self.last = block
        self.reserved_bytes += size
        return block

    def free(self, key: int) -> None:
        """Free a block; free memory at the top beyond two thresholds goes to the system."""
        if (size := self.mapped.pop(key, 0)) > 0:
            self.allocated_bytes -= size
            self.reserved_bytes -= size
            # the next blocks of this size come from the heap
            self.threshold = max(self.threshold, size if size <= LARGEST_THRESHOLD else 0)
            return
        freed = self.given.pop(key)
        self.allocated_bytes -= freed.nbytes
        block = self.pool.release(freed)
        if block.after is None:
            self.last = block
            # ``M_TRIM_THRESHOLD`` follows the other threshold at twice its size
            if block.nbytes > 2 * self.threshold:
                self.pool.remove(block)
                self.reserved_bytes -= block.nbytes
                self.last = block.before
                if self.last is not None:
                    self.last.after = None
