"""When each kernel runs where several streams overlap.

Kernels start in the order of the table as soon as their operands are there and a stream is free
(list scheduling, Graham, "Bounds on multiprocessing timing anomalies", 1969), no earlier than the
host can launch them. Those that run at once share the machine: where together they would use more
than all of a unit, of a memory's bandwidth or of the SMs, all slow down equally. What is inside of
regions runs alone. Left out: caches that kernels take from each other, and priorities. Checked on
two cores of a processor, on no GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from perfc.ir import Graph, Kind, TensorType, Value
from perfc.machine import Machine

from ..fusion.fuse import KernelTable
from .ceilings import Ceiling, KernelBound
from .efficiency import TILE

SHARED = (
    Ceiling.MATRIX,
    Ceiling.VECTOR,
    Ceiling.SPECIAL,
    Ceiling.INTEGER,
    Ceiling.L1,
    Ceiling.L2,
    Ceiling.DEVICE,
)
"""Resources that concurrent kernels share; `use` adds the SMs as the last."""
RESIDENT_THREADS = 2048
"""Threads that one SM keeps at once where the target does not say: the number of A100 and H100."""


def depends_on(table: KernelTable, graph: Graph) -> list[set[int]]:
    """Return for each kernel the kernels that must end before it.

    A kernel waits for the kernels whose results it reads, also through views and host nodes.
    Kernels of regions run while no other does, so that they wait for all and all wait for them.
    """
    owner = {n: i for i, k in enumerate(table.kernels) for n in (*k.nodes, *k.folded)}
    comes_from: dict[Value, frozenset[int]] = {}
    producers: list[set[int]] = [set() for _ in table.kernels]
    outer = set(graph.nodes)
    for node in graph.nodes:
        sources = frozenset[int]().union(
            *(comes_from.get(v, frozenset()) for v in node.inputs if v is not None)
        )
        kernel = owner.get(node)
        if kernel is not None:
            producers[kernel] |= sources
            # a view passes on what its operand depends on
            if not table.runtime.is_view(node):
                sources = frozenset({kernel})
        comes_from.update(dict.fromkeys(node.results, sources))
    # the last kernel of a region so far: all later kernels wait for it, and it waits for all
    # earlier ones, of which those before the last such kernel are waited for already
    last: int | None = None
    writers: dict[Value, int] = {}
    for i, k in enumerate(table.kernels):
        producers[i] = {j for j in producers[i] if j < i}
        producers[i] |= {writers[v] for v in k.reads if v in writers}
        writers.update(dict.fromkeys(k.writes, i))
        if last is not None:
            producers[i].add(last)
        # nodes of helpers are synthetic, and in no graph
        if k.helper is None and not outer.issuperset(k.nodes):
            producers[i].update(range((last or 0), i))
            last = i
    return producers


def use(bound: KernelBound, time_s: float, machine: Machine) -> tuple[float, ...]:
    """Return the shares of each resource in `SHARED`, then of the SMs, that a kernel uses alone."""
    shares = [min(bound.sustained.get(c, 0.0) / time_s, 1.0) if time_s else 0.0 for c in SHARED]
    return (*shares, filled(bound, machine))


def filled(bound: KernelBound, machine: Machine) -> float:
    """Return the share of the SMs that a kernel's blocks fill.

    Blocks of products make tiles of ``TILE`` × ``TILE`` results; other kernels have one thread a
    result.
    """
    kernel, counts = bound.kernel, bound.counts
    if machine.kind != "cuda" or not machine.sm_count:
        return 1.0
    # number of results, if all have the widest type
    widths = [v.type.dtype.bits for v in kernel.writes if isinstance(v.type, TensorType)]
    results = 8 * counts.write_bytes / max(widths, default=8)
    tiled = kernel.kind in (Kind.MATMUL, Kind.CONV, Kind.ATTENTION)
    threads = machine.device("max_threads_per_sm")
    results_per_sm = (
        TILE * TILE if tiled else threads.value if threads is not None else RESIDENT_THREADS
    )
    return min(math.ceil(results / results_per_sm) / machine.sm_count, 1.0)


class Timeline:
    """Kernels on streams, simulated event by event.

    Args:
        depends: for each kernel the earlier kernels that must end before it starts.
        time_s: time of each kernel alone.
        uses: shares of the shared resources that each kernel uses alone.
        wait_s: least time from the launch of each kernel to the next launch.
        streams: number of streams; fewer than one count as one.
    """

    def __init__(
        self,
        depends: Sequence[set[int]],
        time_s: Sequence[float],
        uses: Sequence[tuple[float, ...]],
        wait_s: Sequence[float],
        streams: int,
    ) -> None:
        self.time_s, self.uses, self.wait_s = time_s, uses, wait_s
        # for each kernel the number of kernels that must still end before it starts
        self.missing = [len(d) for d in depends]
        self.readers: list[list[int]] = [[] for _ in depends]
        for i, before in enumerate(depends):
            for j in before:
                self.readers[j].append(i)
        self.ready = [i for i, n in enumerate(self.missing) if not n]
        heapify(self.ready)
        # streams on which no kernel runs
        self.free = list(range(max(streams, 1)))
        # seconds alone that each running kernel still needs
        self.left: dict[int, float] = {}
        # the current time, and the earliest time at which the host can launch the next kernel
        self.now = self.launched = 0.0
        count = len(depends)
        self.start_s, self.end_s = [0.0] * count, [0.0] * count
        self.stream = [0] * count
        while self.ready or self.left:
            self._start()
            self._advance()

    @property
    def makespan_s(self) -> float:
        """Return the seconds from the start of the first kernel to the end of the last."""
        return max(self.end_s, default=0.0)

    def _start(self) -> None:
        """Start ready kernels in the order of the table, as streams and the host allow."""
        while self.ready and self.free and self.now >= self.launched:
            i = heappop(self.ready)
            self.stream[i] = heappop(self.free)
            self.start_s[i] = self.now
            self.left[i] = self.time_s[i]
            self.launched = self.now + self.wait_s[i]

    def _advance(self) -> None:
        """Advance to the next end of a kernel, or to the next launch if that is possible before."""
        columns = zip(*(self.uses[i] for i in self.left), strict=True)
        # the resource in most demand slows all running kernels by the same factor
        slowdown = max([1.0, *map(sum, columns)])
        shortest_s = min(self.left.values(), default=math.inf)
        next_end = self.now + shortest_s * slowdown
        # the host can launch the next kernel before a running one ends
        if self.ready and self.free and self.launched < next_end:
            for i in self.left:
                self.left[i] -= (self.launched - self.now) / slowdown
            self.now = self.launched
            return
        self.now = next_end
        ended = [i for i, left_s in self.left.items() if left_s <= shortest_s]
        for i in self.left:
            self.left[i] -= shortest_s
        for i in ended:
            self._end(i)

    def _end(self, i: int) -> None:
        """Free the stream of a kernel, and make the kernels ready that waited for no other."""
        del self.left[i]
        self.end_s[i] = self.now
        heappush(self.free, self.stream[i])
        for reader in self.readers[i]:
            self.missing[reader] -= 1
            if not self.missing[reader]:
                heappush(self.ready, reader)
