"""Allocators of frameworks, simulated: what a run holds of the device beyond what lives in it.

One allocator, one file. Addresses stand for those of the device; a segment is one request to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from perfc.ir import record


class OutOfMemoryError(Exception):
    """The device has too little memory, even after every unused block is released."""


class Allocator(ABC):
    """Takes memory of a device and gives parts of it out."""

    title: ClassVar[str]
    """Name of the allocator for people."""

    @abstractmethod
    def __init__(self, capacity_bytes: int | None = None) -> None:
        """Nothing is given out yet.

        Args:
            capacity_bytes: capacity in bytes of the device; None without an end.
        """

    reserved_bytes: int = 0
    """Taken of the device."""
    allocated_bytes: int = 0
    """Given out, as rounded."""

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
        reserved_line: reserved memory after each kernel began.
        allocated_line: allocated memory then.
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
        events: kernel, key and bytes; below zero where the key is given back.
        allocator: with nothing given out.
        steps: kernels of the run.
        runs: how often it is repeated, with what outlives it: later runs find what the first left.

    Raises:
        OutOfMemoryError: the device has no room.
    """
    all_events = list(events)
    reserved, allocated = [0] * max(steps, 1), [0] * max(steps, 1)
    persistent: set[int] = set()
    for _ in range(max(runs, 1)):
        reserved, allocated = [0] * max(steps, 1), [0] * max(steps, 1)
        # memory that earlier runs left allocated counts from the first step
        reserved[0], allocated[0] = allocator.reserved_bytes, allocator.allocated_bytes
        for step, key, nbytes in all_events:
            if key in persistent:
                continue
            at = step if step > 0 else 0
            if nbytes < 0:
                # a buffer that this step frees was still allocated while its kernel ran
                if allocator.allocated_bytes > allocated[at]:
                    allocated[at] = allocator.allocated_bytes
                allocator.free(key)
            elif nbytes > 0:
                allocator.allocate(key, nbytes)
            if allocator.reserved_bytes > reserved[at]:
                reserved[at] = allocator.reserved_bytes
            if allocator.allocated_bytes > allocated[at]:
                allocated[at] = allocator.allocated_bytes
        freed = {key for _, key, nbytes in all_events if nbytes < 0}
        # what is never freed stays for the next run, which does not allocate it again
        persistent |= {key for _, key, _ in all_events if key not in freed}
    lines = tuple(_filled(reserved)), tuple(_filled(allocated))
    peak = max(range(len(lines[1])), key=lines[1].__getitem__)
    return Replay(max(lines[0]), max(lines[1]), peak, *lines)


def _filled(line: list[int]) -> list[int]:
    """Return a line without gaps: kernels that ask for nothing have what was there before."""
    filled, last = [], 0
    for value in line:
        last = value or last
        filled.append(last)
    return filled
