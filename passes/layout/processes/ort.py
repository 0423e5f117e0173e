"""Growth of a process of ONNX Runtime on a processor: libraries, weights, copies, the arena.

Weights lie in mapped pages of their file until something changes them. A fused batch normalization
makes new weights of a convolution, blocks of channels make them once more, with buffers between;
the first copies go when the graph is done, but the heap keeps their place. A product packs its
weights and lets go of the file's. A result takes the place of an earlier one only if that has its
shape, so a place is held from its first result to its last. The arena's regions double; the second
run takes one block for the whole memory pattern, in addition to what the first run took.

Source: onnxruntime 1.32, core/optimizer/conv_bn_fusion.cc and nchwc_transformer.cc,
core/framework/session_state.cc, allocation_planner.cc (``FindReusableTensor``),
ort_value_pattern_planner.cc and bfc_arena.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.ir import Env, Type
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.normalization.normalization import BatchNormalization

from ...fusion.kernel import Kernel
from ...memory.allocators.bfc import BfcArena
from ...memory.allocators.blocks import MemoryBlock
from ...memory.allocators.heap import Heap
from ...memory.storage import Buffer, BufferRole, StorageTable
from ..blocks import is_blocked_conv
from . import ProcessMemory, size_of

PLACES, WEIGHTS = 1 << 40, 1 << 41
"""First keys of places of results, and of copies of weights."""


class HeapArena(BfcArena):
    """An arena whose regions come from a heap, and whose pages count once they are written."""

    def __init__(self, heap: Heap) -> None:
        super().__init__()
        self.heap = heap
        self.regions: dict[int, tuple[int, int]] = {}

    def allocate(self, key: int, nbytes: int) -> None:
        """Give out a chunk, whose pages are written."""
        super().allocate(key, nbytes)
        address = self.given[key].address
        start = max(a for a in self.regions if a <= address)
        size, written = self.regions[start]
        self.regions[start] = size, max(written, address + nbytes - start)

    def extend(self, nbytes: int) -> MemoryBlock:
        """Take a region of the heap."""
        block = super().extend(nbytes)
        self.heap.allocate(block.address, block.nbytes)
        self.regions[block.address] = block.nbytes, 0
        return block

    @property
    def untouched_bytes(self) -> int:
        """Return the bytes of regions that nothing was written to."""
        return sum(size - written for size, written in self.regions.values())


def grown_by_ort(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> ProcessMemory:
    """Return the growth of a process that loads a model and runs it several times.

    Args:
        kernels: kernels of the model.
        table: its buffers.
        env: values of its symbols.
    """
    heap = Heap()
    weights, mapped = loaded(heap, kernels, table, env)
    reserved, loading = heap.reserved_bytes, mapped + heap.peak_bytes
    sizes = table.sizes(env)
    run = 0
    arena, live, most = HeapArena(heap), 0, 0
    for b, nbytes in zip(table.buffers, sizes, strict=True):
        # inputs as drawn, and as the runtime has them
        run += 2 * nbytes * (b.role in (BufferRole.INPUT, BufferRole.CACHE))
    for key, nbytes in places(table.buffers, sizes):
        (arena.allocate(key, nbytes) if nbytes > 0 else arena.free(key))
        live += nbytes
        most = max(most, live)
    if most:
        arena.allocate(-1, most)
    run += max(heap.reserved_bytes - reserved - arena.untouched_bytes, 0)
    if loading > mapped + reserved + run:
        return ProcessMemory(0, weights, loading - weights, 0)
    return ProcessMemory(0, weights, max(mapped + reserved - weights, 0), run)


def loaded(heap: Heap, kernels: Sequence[Kernel], table: StorageTable, env: Env) -> tuple[int, int]:
    """Return the bytes of all weights, and of those that are not in the heap, once it has the rest.

    Args:
        heap: takes the copies that a session makes.
        kernels: kernels of the model.
        table: its buffers.
        env: values of its symbols.
    """
    stored = {
        b.value: n
        for b, n in zip(table.buffers, table.sizes(env), strict=True)
        if b.role is BufferRole.PARAMETER
    }
    filters = list[tuple[int, bool, bool]]()
    for k in kernels:
        nodes = (*k.nodes, *k.folded)
        is_fused = any(isinstance(n.op, BatchNormalization) for n in nodes)
        for n in nodes:
            weight = n.inputs[1] if isinstance(n.op, Conv) else None
            if weight is not None and weight.weight is not None:
                stored.pop(weight, None)
                filters.append((size_of(weight, env), is_fused, is_blocked_conv(k)))
    fused, key = list[int](), WEIGHTS
    for nbytes, is_fused, _ in filters:
        if is_fused:
            # as numbers, then as a stored tensor
            heap.allocate(key, nbytes)
            heap.allocate(key + 1, nbytes)
            heap.free(key)
            fused.append(key + 1)
            key += 2
    for nbytes, _, is_blocked in filters:
        if is_blocked:
            # as numbers, in blocks, as a stored tensor, as a value
            for i in range(4):
                heap.allocate(key + i, nbytes)
            for i in range(3):
                heap.free(key + i)
            key += 4
    for made, is_blocked in zip(fused, (b for _, f, b in filters if f), strict=True):
        if is_blocked:
            heap.free(made)
    mapped = sum(stored.values()) + sum(n for n, f, b in filters if not (f or b))
    return sum(stored.values()) + sum(n for n, _, _ in filters), mapped


def places(buffers: Sequence[Buffer], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield places of results and their bytes, below zero where a place is given back.

    Args:
        buffers: buffers of a run.
        sizes: their bytes.
    """
    made = [
        (b.born, b.dies, b.value.type, n)
        for b, n in zip(buffers, sizes, strict=True)
        if b.born >= 0 and n
    ]
    taken: list[list[int]] = []  # first kernel, last kernel, bytes
    by_type: dict[Type, list[list[int]]] = {}
    for born, dies, kind, nbytes in sorted(made, key=lambda m: m[0]):
        free = next((p for p in by_type.get(kind, ()) if p[1] < born), None)
        if free is None:
            taken.append(free := [born, dies, nbytes])
            by_type.setdefault(kind, []).append(free)
        free[1] = dies
    events = [(p[0], 1, i) for i, p in enumerate(taken)]
    events += [(p[1] + 1, 0, i) for i, p in enumerate(taken)]
    for _, is_taken, i in sorted(events):
        yield PLACES + i, taken[i][2] if is_taken else -taken[i][2]
