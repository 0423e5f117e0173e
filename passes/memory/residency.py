"""Traffic to device memory, with tensors that stay in caches between kernels and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfc.ir import Value
from perfc.machine import Machine

from ..fusion.kernel import Kernel


def capacity(machine: Machine, level: str) -> int:
    """Bytes that a cache holds, 0 where the machine has none."""
    cache = machine.level(level)
    return cache.capacity_bytes if cache is not None else 0


def missed(
    kernels: Sequence[Kernel],
    moved: Sequence[tuple[float, float]],
    sizes: Mapping[Value, float],
    held_bytes: int,
) -> list[float]:
    """Bytes each kernel fetches from or leaves to device memory.

    A tensor is found in the last cache if it was touched less than the cache's capacity of
    traffic ago, and everything touched since fits with it. The run is followed twice, so that
    what a run leaves in cache serves the next.

    Args:
        kernels: in order.
        moved: bytes read and written by each.
        sizes: bytes of every value that crosses a kernel's border.
        held_bytes: capacity of the last cache.
    """
    touched: dict[Value, float] = {}
    clock = 0.0
    charged: list[float] = []
    for round_ in range(2):
        for k, (read, written) in zip(kernels, moved, strict=True):
            if round_:
                fetched = 0.0
                for v in k.reads:
                    last = touched.get(v)
                    if last is None or clock - last + sizes[v] > held_bytes:
                        fetched += sizes[v]
                spilled = written if written > held_bytes / 2 else 0.0
                # it can hold what was made before and is read after
                least = max(read - held_bytes, 0.0) + max(written - held_bytes, 0.0)
                charged.append(max(min(fetched, read) + spilled, least))
            clock += read + written
            for v in k.reads:
                touched[v] = clock
            for v in k.writes:
                touched[v] = clock
    return charged
