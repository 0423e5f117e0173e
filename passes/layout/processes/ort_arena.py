"""ONNX Runtime's arena on a processor: places of results, and regions of the heap that it doubles.

A result takes the place of an earlier result only if both have one shape, so a place is held from
its first result to its last. The second run takes one block for the whole memory pattern, in
addition to the memory of the first run.

Source: onnxruntime 1.32, core/framework/allocation_planner.cc (``FindReusableTensor``),
ort_value_pattern_planner.cc and bfc_arena.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from perfc.ir import Type

from ...memory.allocators.bfc import BfcArena
from ...memory.allocators.blocks import MemoryBlock
from ...memory.allocators.heap import Heap
from ...memory.storage import Buffer

PLACES = 1 << 40
"""First key of places of results in the heap."""


class HeapArena(BfcArena):
    """An arena whose regions come from a heap, and whose pages count once they are written."""

    def __init__(self, heap: Heap) -> None:
        super().__init__()
        self.heap = heap
        # by address: size of a region, and bytes up to the end of the last chunk in it
        self.regions: dict[int, tuple[int, int]] = {}

    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate a chunk, whose pages are written."""
        super().allocate(key, nbytes)
        address = self.given[key].address
        start = max(a for a in self.regions if a <= address)
        size, written = self.regions[start]
        self.regions[start] = size, max(written, address + nbytes - start)

    def extend(self, nbytes: int) -> MemoryBlock:
        """Reserve a region of the heap."""
        block = super().extend(nbytes)
        self.heap.allocate(block.address, block.nbytes)
        self.regions[block.address] = block.nbytes, 0
        return block

    @property
    def untouched_bytes(self) -> int:
        """Return the bytes at the ends of regions that nothing was written to."""
        return sum(size - written for size, written in self.regions.values())


def run_bytes(heap: Heap, buffers: Sequence[Buffer], sizes: Sequence[int]) -> int:
    """Return the pages that two runs take of a heap.

    Args:
        heap: heap of the process, once a model is loaded.
        buffers: buffers of a run.
        sizes: bytes of the buffers.
    """
    reserved, arena, live, peak = heap.reserved_bytes, HeapArena(heap), 0, 0
    # the first run, then the block of the memory pattern for the second
    for key, nbytes in places(buffers, sizes):
        if nbytes > 0:
            arena.allocate(key, nbytes)
        else:
            arena.free(key)
        live += nbytes
        peak = max(peak, live)
    # -1 is the key of no place
    if peak:
        arena.allocate(-1, peak)
    return max(heap.reserved_bytes - reserved - arena.untouched_bytes, 0)


def places(buffers: Sequence[Buffer], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield places of results with their bytes in order, negative when a place is freed.

    Args:
        buffers: buffers of a run.
        sizes: bytes of the buffers.
    """
    results = [
        (b.born, b.dies, b.value.type, n)
        for b, n in zip(buffers, sizes, strict=True)
        if b.born >= 0 and n
    ]
    # first kernel, last kernel and bytes of each place
    held: list[list[int]] = []
    by_type: dict[Type, list[list[int]]] = {}
    for born, dies, type_, nbytes in sorted(results, key=itemgetter(0)):
        free = next((p for p in by_type.get(type_, ()) if p[1] < born), None)
        if free is None:
            held.append(free := [born, dies, nbytes])
            by_type.setdefault(type_, []).append(free)
        free[1] = dies
    # False sorts before True, so that a step frees before it allocates
    events = [(first, True, i, nbytes) for i, (first, _, nbytes) in enumerate(held)]
    events += [(last + 1, False, i, -nbytes) for i, (_, last, nbytes) in enumerate(held)]
    for _, _, i, nbytes in sorted(events):
        yield PLACES + i, nbytes
