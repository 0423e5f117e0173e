"""Simulated allocators of frameworks: device memory that a run reserves beyond its live buffers.

One allocator, one file. Addresses stand for those of the device; a segment is one request to the
device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from perfc.ir import record


class OutOfMemoryError(Exception):
    """The device has too little memory, even after every unused block is released."""


class Allocator(ABC):
    """Reserves memory of a device and allocates parts of it."""

    title: ClassVar[str]
    """Name of the allocator for people."""

    @abstractmethod
    def __init__(self, capacity_bytes: int | None = None) -> None:
        """Begin with nothing reserved or allocated.

        Args:
            capacity_bytes: capacity in bytes of the device; None for no limit.
        """

    reserved_bytes: int = 0
    """Bytes reserved from the device."""
    allocated_bytes: int = 0
    """Bytes of all allocated blocks, with the rounding of their sizes."""

    @abstractmethod
    def allocate(self, key: int, nbytes: int) -> None:
        """Allocate memory under a key.

        Raises:
            OutOfMemoryError: the device has no more.
        """

    @abstractmethod
    def free(self, key: int) -> None:
        """Free the memory of a key."""


@record
class Replay:
    """Result of simulating an allocator over a run.

    Args:
        reserved_bytes: peak of memory reserved from the device.
        allocated_bytes: peak of allocated memory.
        peak_step: kernel at which allocated memory peaks.
        reserved_line: largest reserved memory while each kernel runs.
        allocated_line: largest allocated memory while each kernel runs.
    """

    reserved_bytes: int
    allocated_bytes: int
    peak_step: int
    reserved_line: tuple[int, ...]
    allocated_line: tuple[int, ...]


def replay(
    events: Iterable[tuple[int, int, int]], allocator: Allocator, steps: int, runs: int = 1
) -> Replay:
    """Let an allocator serve the events of a run.

    Args:
        events: kernel, key of the buffer, and bytes; negative bytes free the buffer.
        allocator: allocator with nothing allocated.
        steps: number of kernels of the run.
        runs: number of repetitions; later runs find the blocks that the first run has left, and
            only the last run is in the result.

    Raises:
        OutOfMemoryError: the device has no room.
    """
    all_events = list(events)
    persistent: set[int] = set()
    for _ in range(max(runs, 1)):
        reserved, allocated = [0] * max(steps, 1), [0] * max(steps, 1)
        # memory that earlier runs left allocated counts from the first step
        reserved[0], allocated[0] = allocator.reserved_bytes, allocator.allocated_bytes
        for step, key, nbytes in all_events:
            if key in persistent:
                continue
            # stored tensors, before the first kernel, count with it
            kernel = step if step > 0 else 0
            if nbytes < 0:
                # a buffer that this step frees was still allocated while its kernel ran
                if allocator.allocated_bytes > allocated[kernel]:
                    allocated[kernel] = allocator.allocated_bytes
                allocator.free(key)
            elif nbytes > 0:
                allocator.allocate(key, nbytes)
            if allocator.reserved_bytes > reserved[kernel]:
                reserved[kernel] = allocator.reserved_bytes
            if allocator.allocated_bytes > allocated[kernel]:
                allocated[kernel] = allocator.allocated_bytes
        freed = {key for _, key, nbytes in all_events if nbytes < 0}
        # buffers that are never freed stay for the next run, which does not allocate them again
        persistent |= {key for _, key, _ in all_events if key not in freed}
    reserved, allocated = _filled(reserved), _filled(allocated)
    peak = max(range(len(allocated)), key=allocated.__getitem__)
    return Replay(max(reserved), max(allocated), peak, tuple(reserved), tuple(allocated))


def _filled(line: list[int]) -> list[int]:
    """Return a line without zeros: a kernel without requests has the memory of the one before."""
    filled, last = [], 0
    for value in line:
        last = value or last
        filled.append(last)
    return filled
