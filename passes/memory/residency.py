"""Traffic to device memory, with tensors that stay in caches between kernels and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfc.ir import Value
from perfc.machine import Machine

from ..fusion.kernel import Kernel


def capacity(machine: Machine, level: str) -> int:
    """Return the bytes that a cache holds, 0 where the machine has none."""
    cache = machine.level(level)
    return cache.capacity_bytes if cache is not None else 0


class Touched(NamedTuple):
    """Traffic of one kernel, whatever the cache.

    Args:
        read: bytes read.
        written: bytes written.
        reused: for each value that the kernel reads, the capacity at which a cache still has the
            value, and its bytes. This capacity is the traffic since the value was last touched,
            plus its bytes.
    """

    read: float
    written: float
    reused: tuple[tuple[float, float], ...]


def touched(
    kernels: Sequence[Kernel],
    moved: Sequence[tuple[float, float]],
    sizes: Mapping[Value, float],
) -> list[Touched]:
    """Return the traffic of each kernel in a run that follows an equal run.

    Kernels of equal traffic share one object, so that `missed` counts it once.

    Args:
        kernels: kernels in execution order.
        moved: bytes that each kernel reads and writes.
        sizes: bytes of every value that crosses a kernel's border.
    """
    # the first pass only fills ``touches``: what a run leaves in cache serves the next
    touches: dict[Value, float] = {}
    clock = 0.0
    once: dict[Touched, Touched] = {}
    result: list[Touched] = []
    for is_second in (False, True):
        for k, (read, written) in zip(kernels, moved, strict=True):
            if is_second:
                reused = [(clock - touches[v] + sizes[v], sizes[v]) for v in k.reads]
                traffic = Touched(read, written, tuple(reused))
                result.append(once.setdefault(traffic, traffic))
            clock += read + written
            touches |= dict.fromkeys((*k.reads, *k.writes), clock)
    return result


def missed(kernels: Sequence[Touched], held_bytes: int) -> list[float]:
    """Return the bytes that each kernel fetches from or leaves to device memory.

    A tensor is still in the last cache if it fits there with all traffic since it was last
    touched: in a cache of 40 MB, 8 MB that are read again are a hit after 30 MB of other traffic,
    and a miss after 33 MB. Results above half the capacity are written to memory: an assumption, as
    operands need room.

    Args:
        kernels: traffic of the kernels in execution order.
        held_bytes: capacity of the last cache.
    """
    # by identity: `touched` gives kernels of equal traffic one object
    charged: dict[int, float] = {}
    for k in kernels:
        if id(k) in charged:
            continue
        fetched = sum([nbytes for needed, nbytes in k.reused if needed > held_bytes], 0.0)
        spilled = k.written if k.written > held_bytes / 2 else 0.0
        # a cache saves at most its capacity in bytes read, and its capacity in bytes written
        least = max(k.read - held_bytes, 0.0) + max(k.written - held_bytes, 0.0)
        charged[id(k)] = max(min(fetched, k.read) + spilled, least)
    return [charged[id(k)] for k in kernels]
