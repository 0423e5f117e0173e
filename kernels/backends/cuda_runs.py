"""Runs on a CUDA device: buffers in place, ready to be timed.

Times are from events on a separate stream, except for launches, whose cost is on the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perfc.common.fitted import data_next_to

from .. import reference
from .cublaslt import KINDS, Multiplier

if TYPE_CHECKING:
    from ..reference import Array
    from .cuda import Cuda

KERNELS = data_next_to(__file__)
"""Names of the kernels in each source file."""
CHAINS, STEPS = 8, 16
"""Constants of ``native/arithmetic.cu``."""
BLOCKS_PER_SM, THREADS = 4, 512
"""Launch of arithmetic: 2,048 threads on a multiprocessor, as many as the largest hold."""
GRAPH_NODES = 100
"""Launches of a graph, over which its own launch is spread."""
LINE = 128
"""Bytes of a line of the L2 cache, so that each step of a chase is another line."""
_COUNTS = {"f16": 2, "bf16": 2, "i8": 4}
"""Multiply–accumulates that a 32-bit lane does at once."""
_STREAMS = {"read": 1, "near": 1, "write": 1, "copy": 2, "triad": 3}
"""Buffers that each bandwidth kernel goes through; ``near`` reads what L1 holds."""
_SPIN_CYCLES = 100_000
"""Cycles of one count, about 50 µs: a launch is short against them."""


def _elapsed(cuda: Cuda, enqueue: Callable[[], None]) -> float:
    """Return the seconds on the device between two events around the enqueued work."""
    events = [cuda.cupy.cuda.Event() for _ in range(2)]
    with cuda.stream:
        events[0].record(cuda.stream)
        enqueue()
        events[1].record(cuda.stream)
    events[1].synchronize()
    return float(cuda.cupy.cuda.get_elapsed_time(*events)) * 1e-3


class ProductRun:
    """Products over sets of matrices that together exceed twice the last cache."""

    def __init__(self, cuda: Cuda, multiplier: Multiplier, dtype: str, extent: int) -> None:
        self.cuda, self.multiplier = cuda, multiplier
        self.count = float(extent) ** 3
        kind = KINDS[dtype]
        square = extent * extent
        set_bytes = square * (2 * kind.bytes + kind.result_bytes)
        # enough sets that operands come from memory, at most 32 of small ones
        sets = max(1, min(32, 2 * cuda.device.cache_bytes // set_bytes + 1))
        self.a, self.b = ([_random(cuda, dtype, square) for _ in range(sets)] for _ in range(2))
        self.d = [cuda.cupy.zeros(square * kind.result_bytes, "u1") for _ in range(sets)]
        self.turn = 0

    def sample(self, repeats: int) -> float:
        """Time consecutive products."""

        def enqueue() -> None:
            for turn in range(self.turn, self.turn + repeats):
                i = turn % len(self.a)
                a, b, d = (m[i].data.ptr for m in (self.a, self.b, self.d))
                self.multiplier.run(a, b, d, self.cuda.stream.ptr)

        elapsed = _elapsed(self.cuda, enqueue)
        self.turn += repeats
        return elapsed

    def close(self) -> None:
        """Free matrices and descriptors."""
        self.a, self.b, self.d = [], [], []
        self.multiplier.close()


def _random(cuda: Cuda, dtype: str, count: int) -> Any:
    """Return random elements: power, and with it the clock, depends on the bits that change."""
    cupy = cuda.cupy
    match dtype:
        case "f64" | "f32" | "tf32":
            kind = "f8" if dtype == "f64" else "f4"
            return cupy.random.standard_normal(count, dtype=kind)
        case "f16":
            return cupy.random.standard_normal(count, dtype="f4").astype("f2")
        case "bf16":
            bits = cupy.random.standard_normal(count, dtype="f4").view("u4")
            return (bits >> 16).astype("u2")
        case "f8e4m3":
            # signs, and magnitudes up to 1: no encoding of NaN
            codes = cupy.random.randint(0, 0x39, count, dtype="u1")
            return codes | (cupy.random.randint(0, 2, count, dtype="u1") << 7)
        case _:
            return cupy.random.randint(-128, 128, count, dtype="i1")


class ChainRun:
    """Kernels on values in registers, with as many threads as a multiprocessor can hold."""

    def __init__(self, cuda: Cuda, kernel: str, storage: str, dtype: str) -> None:
        self.cuda, self.kernel = cuda, cuda.functions[kernel]
        self.blocks = cuda.device.cores * BLOCKS_PER_SM
        values = self.blocks * THREADS * CHAINS
        self.out = cuda.cupy.zeros(values, storage)
        self.start = cuda.cupy.ones(64, storage)
        self.operands = (self.start, self.start) if kernel == "dot_i8" else (self.start,)
        lanes = 1 if kernel.startswith("special") else _COUNTS.get(dtype, 1)
        self.count = float(values * STEPS * lanes)

    def sample(self, repeats: int) -> float:
        """Time one launch that repeats inside the kernel."""
        import numpy as np

        # 64 is the number of start values
        arguments = (self.out, *self.operands, np.int32(64), np.int32(repeats))
        return _elapsed(self.cuda, lambda: self.kernel((self.blocks,), (THREADS,), arguments))

    def close(self) -> None:
        """Free the results."""
        self.out = None


class StreamRun:
    """Each block passes over a separate part of the buffers."""

    def __init__(self, cuda: Cuda, what: str, nbytes: int) -> None:
        self.cuda, self.kernel = cuda, cuda.functions[f"{what}_stream"]
        streams = _STREAMS[what]
        self.blocks = cuda.device.cores * 2
        # words of 16 bytes of each block and buffer
        self.words = max(nbytes // streams // self.blocks // 16, 32)
        # Two blocks of 512 threads with 64 registers each run on a multiprocessor at once. Small
        # buffers get fewer threads, so that each has four words or more.
        self.threads = min(512, max(64, self.words // 4 // 32 * 32))
        # 32-bit words of a buffer
        size = self.blocks * self.words * 4
        # at most 64 MiB of random words, repeated over larger buffers
        random = cuda.cupy.random.randint
        block = random(0, 1 << 31, min(size, 1 << 24), dtype="u4")
        self.buffers = [cuda.cupy.resize(block, size) for _ in range(streams)]
        self.sum = cuda.cupy.zeros(1, "u4")
        self.count = 4.0 * size * streams

    def sample(self, repeats: int) -> float:
        """Time one launch that repeats inside the kernel."""
        return _elapsed(self.cuda, lambda: self.launch(repeats))

    def launch(self, repeats: int) -> None:
        """Enqueue ``repeats`` passes."""
        import numpy as np

        a, c = self.buffers[0], self.buffers[-1]
        b = self.buffers[min(1, len(self.buffers) - 1)]
        arguments = (a, b, c, np.int64(self.words), np.int32(repeats), self.sum)
        self.kernel((self.blocks,), (self.threads,), arguments)

    def close(self) -> None:
        """Free the buffers, so that the next size fits."""
        self.buffers = []
        self.cuda.cupy.get_default_memory_pool().free_all_blocks()


class ChaseRun:
    """One thread follows pointers, one per cache line."""

    count = 1.0

    def __init__(self, cuda: Cuda, nbytes: int) -> None:
        self.cuda, self.kernel = cuda, cuda.functions["pointer_chase"]
        slots = max(nbytes // LINE, 2)
        self.memory, self.place = pointers(cuda, reference.cycle(slots, nbytes))
        # walking round a small cycle, of at most 16 MiB, brings it into the caches
        self.sample(min(slots, 1 << 17))

    def sample(self, repeats: int) -> float:
        """Time ``repeats`` steps, starting where the last ones ended."""
        import numpy as np

        arguments = (self.place, np.int64(repeats))
        return _elapsed(self.cuda, lambda: self.kernel((1,), (1,), arguments))

    def close(self) -> None:
        """Free the lines."""
        self.memory = self.place = None


def pointers(cuda: Cuda, following: Array) -> tuple[Any, Any]:
    """Return one pointer per cache line, and the buffer that holds the position of the walk."""
    cupy = cuda.cupy
    words = LINE // 8
    memory = cupy.zeros(len(following) * words, "u8")
    memory[::words] = memory.data.ptr + cupy.asarray(following).astype("u8") * LINE
    return memory, cupy.full(1, memory.data.ptr, "u8")


class ClockRun:
    """Multiprocessors count cycles while events time them."""

    count = float(_SPIN_CYCLES)

    def __init__(self, cuda: Cuda) -> None:
        self.cuda, self.kernel = cuda, cuda.functions["spin"]

    def sample(self, repeats: int) -> float:
        """Time one launch that waits so long."""
        import numpy as np

        cycles = (np.int64(_SPIN_CYCLES * repeats),)
        cores = self.cuda.device.cores
        return _elapsed(self.cuda, lambda: self.kernel((cores,), (32,), cycles))

    def close(self) -> None:
        """Do nothing: no buffers are held."""


class EagerRun:
    """Host time to enqueue an empty kernel."""

    count = 1.0

    def __init__(self, cuda: Cuda) -> None:
        self.cuda, self.kernel = cuda, cuda.functions["nothing"]

    def sample(self, repeats: int) -> float:
        """Time consecutive launches; the stream is empty before, and synchronized afterwards."""
        with self.cuda.stream:
            self.cuda.stream.synchronize()
            start = time.perf_counter()
            for _ in range(repeats):
                self.kernel((1,), (32,), ())
            elapsed = time.perf_counter() - start
            self.cuda.stream.synchronize()
        return elapsed

    def close(self) -> None:
        """Do nothing: no buffers are held."""


class GraphRun:
    """A recorded chain of empty kernels: the device time of each."""

    count = float(GRAPH_NODES)

    def __init__(self, cuda: Cuda) -> None:
        self.cuda = cuda
        kernel = cuda.functions["nothing"]
        with cuda.stream:
            kernel((1,), (32,), ())  # loading at first use cannot be recorded
            cuda.stream.synchronize()
            cuda.stream.begin_capture()
            for _ in range(GRAPH_NODES):
                kernel((1,), (32,), ())
            self.graph: Any = cuda.stream.end_capture()

    def sample(self, repeats: int) -> float:
        """Time consecutive replays."""

        def enqueue() -> None:
            for _ in range(repeats):
                self.graph.launch(self.cuda.stream)

        return _elapsed(self.cuda, enqueue)

    def close(self) -> None:
        """Release the graph."""
        self.graph = None


class LinkRun:
    """Copies between host and device, from pinned or pageable memory."""

    def __init__(self, cuda: Cuda, what: str, nbytes: int) -> None:
        import numpy as np

        self.cuda, self.count = cuda, float(nbytes)
        way, _, memory = what.partition("-")
        words = nbytes // 8
        self.pinned: Any = None
        if memory == "pinned":
            self.pinned = cuda.cupy.cuda.alloc_pinned_memory(nbytes)
            self.host = np.frombuffer(self.pinned, np.uint64, words)
        else:
            self.host = np.empty(words, np.uint64)
        self.host[:] = np.random.default_rng(nbytes).integers(0, 1 << 62, words)
        self.device: Any = cuda.cupy.asarray(self.host)
        self.to_device = way == "h2d"
        self.is_pinned = memory == "pinned"

    def sample(self, repeats: int) -> float:
        """Time consecutive copies; copies from pageable memory are timed by the host they block."""

        def enqueue() -> None:
            runtime = self.cuda.cupy.cuda.runtime
            for _ in range(repeats):
                pair = (self.device.data.ptr, self.host.ctypes.data)
                to, source = pair if self.to_device else pair[::-1]
                kind = 1 if self.to_device else 2  # cudaMemcpyKind
                runtime.memcpyAsync(to, source, int(self.count), kind, self.cuda.stream.ptr)

        if self.is_pinned:
            return _elapsed(self.cuda, enqueue)
        self.cuda.stream.synchronize()
        start = time.perf_counter()
        enqueue()
        self.cuda.stream.synchronize()
        return time.perf_counter() - start

    def close(self) -> None:
        """Free both buffers."""
        self.device = self.pinned = None
        self.host = self.host[:0].copy()  # a view would hold the buffer
