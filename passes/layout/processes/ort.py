"""Growth of a process of ONNX Runtime on a processor: libraries, weights, copies, the arena.

Weights are mapped pages of their file until something changes them. A fused batch normalization
gives a convolution new weights. Blocks of channels give it new weights again, through temporary
buffers. The first copies are freed when the graph is final, but the heap keeps their memory. A
product packs its weights and unmaps those of the file. `perfc.passes.layout.processes.ort_arena`
replays what runs take.

Source: onnxruntime 1.32, core/optimizer/conv_bn_fusion.cc and nchwc_transformer.cc,
core/framework/session_state.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Env
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.quantized.quantize import DequantizeLinear

from ...fusion.kernel import Kernel
from ...memory.allocators.heap import Heap
from ...memory.liveness import bytes_of
from ...memory.storage import BufferRole, StorageTable
from ..blocks import is_blocked_conv
from . import ProcessMemory
from .ort_arena import run_bytes

WEIGHTS = 1 << 41
"""First key of copies of weights in the heap, above those of results (``PLACES``)."""


def grown_by_ort(kernels: Sequence[Kernel], table: StorageTable, env: Env) -> ProcessMemory:
    """Return the growth of a process that loads a model and runs it several times.

    Args:
        kernels: kernels of the model.
        table: buffers of a run.
        env: values of the model's symbols.
    """
    heap = Heap()
    weights, mapped = loaded(heap, kernels, table, env)
    reserved, loading = heap.reserved_bytes, mapped + heap.peak_bytes
    sizes = table.sizes(env)
    run = run_bytes(heap, table.buffers, sizes)
    for b, nbytes in zip(table.buffers, sizes, strict=True):
        # an input is held twice: by the caller, and by the runtime
        run += 2 * nbytes * (b.role in (BufferRole.INPUT, BufferRole.CACHE))
    # the peak is while the model loads, or in a run
    if loading > mapped + reserved + run:
        return ProcessMemory(0, weights, loading - weights, 0)
    return ProcessMemory(0, weights, max(mapped + reserved - weights, 0), run)


def loaded(heap: Heap, kernels: Sequence[Kernel], table: StorageTable, env: Env) -> tuple[int, int]:
    """Allocate a session's copies in a heap; return the bytes of all and of mapped weights.

    Args:
        heap: heap of the process.
        kernels: kernels of the model.
        table: buffers of a run.
        env: values of the model's symbols.
    """
    stored = {
        b.value: n
        for b, n in zip(table.buffers, table.sizes(env), strict=True)
        if b.role is BufferRole.PARAMETER
    }
    # of each convolution: bytes, whether a normalization is fused, whether it is in blocks
    filters = list[tuple[int, bool, bool]]()
    f32_keys = list[int]()
    fused = list[int]()
    key = WEIGHTS
    for k in kernels:
        nodes = (*k.nodes, *k.folded)
        for v in [n.inputs[0] for n in nodes if isinstance(n.op, DequantizeLinear)]:
            if v is not None and v in stored:
                # in f32 four times as large, freed when the graph is final; and a packed copy
                heap.allocate(key, 4 * stored[v])
                heap.allocate(key + 1, stored[v])
                f32_keys.append(key)
                key += 2
        is_fused = any(isinstance(n.op, BatchNormalization) for n in nodes)
        for n in nodes:
            weight = n.inputs[1] if isinstance(n.op, Conv) else None
            if weight is not None and weight.weight is not None:
                stored.pop(weight, None)
                nbytes = bytes_of(weight, env)
                filters.append((nbytes, is_fused, is_blocked_conv(k)))
    for freed_key in f32_keys:
        heap.free(freed_key)
    for nbytes, is_fused, _ in filters:
        if is_fused:
            # first an array to compute with, then a stored tensor
            heap.allocate(key, nbytes)
            heap.allocate(key + 1, nbytes)
            heap.free(key)
            fused.append(key + 1)
            key += 2
    for nbytes, _, is_blocked in filters:
        if is_blocked:
            # an array to compute with, the same in blocks, a stored tensor, and a value that stays
            for i in range(4):
                heap.allocate(key + i, nbytes)
            for i in range(3):
                heap.free(key + i)
            key += 4
    in_blocks = [is_blocked for _, is_fused, is_blocked in filters if is_fused]
    for freed_key, is_blocked in zip(fused, in_blocks, strict=True):
        if is_blocked:
            heap.free(freed_key)
    others = sum(stored.values())
    unchanged = sum(n for n, is_fused, is_blocked in filters if not (is_fused or is_blocked))
    return others + sum(n for n, _, _ in filters), others + unchanged
