"""Segments cut into blocks: what allocators that split and merge have in common."""

from __future__ import annotations

from bisect import bisect_left, insort

from perfc.ir import mutable


@mutable
class MemoryBlock:
    """A part of a segment, with its neighbours ``before`` and ``after`` in the segment."""

    address: int
    nbytes: int
    is_free: bool
    before: MemoryBlock | None
    after: MemoryBlock | None

    def __init__(self, address: int, nbytes: int) -> None:
        self.address, self.nbytes, self.is_free = address, nbytes, True
        self.before, self.after = None, None

    @property
    def is_whole(self) -> bool:
        """Return True if the block covers its whole segment."""
        return self.before is None and self.after is None


class FreeBlocks:
    """Free blocks by size, then address."""

    def __init__(self) -> None:
        self.order: list[tuple[int, int]] = []
        self.blocks: dict[int, MemoryBlock] = {}

    def add(self, block: MemoryBlock) -> None:
        """Add a free block."""
        insort(self.order, (block.nbytes, block.address))
        self.blocks[block.address] = block

    def remove(self, block: MemoryBlock) -> None:
        """Forget a block."""
        del self.order[bisect_left(self.order, (block.nbytes, block.address))]
        del self.blocks[block.address]

    def best(self, nbytes: int) -> MemoryBlock | None:
        """Return the smallest block that is large enough (best fit); None if there is none."""
        # of equally large blocks the one at the lowest address
        position = bisect_left(self.order, (nbytes, 0))
        if position == len(self.order):
            return None
        _, address = self.order[position]
        return self.blocks[address]

    def release(self, block: MemoryBlock) -> MemoryBlock:
        """Merge a block with its free neighbours, add the result and return it."""
        block.is_free = True
        for other in (block.before, block.after):
            if other is not None and other.is_free:
                # the pool is ordered by size, which changes
                self.remove(other)
                block = joined(*sorted((block, other), key=lambda b: b.address))
        self.add(block)
        return block


def split(block: MemoryBlock, nbytes: int) -> MemoryBlock:
    """Cut a block after ``nbytes`` bytes and return the rest."""
    rest = MemoryBlock(block.address + nbytes, block.nbytes - nbytes)
    rest.before, rest.after = block, block.after
    if block.after is not None:
        block.after.before = rest
    block.after, block.nbytes = rest, nbytes
    return rest


def joined(low: MemoryBlock, high: MemoryBlock) -> MemoryBlock:
    """Merge a block with its neighbour at the higher address, and return it."""
    # nothing but the neighbours of ``high`` refers to it
    low.nbytes += high.nbytes
    low.after = high.after
    if high.after is not None:
        high.after.before = low
    low.is_free = True
    return low
