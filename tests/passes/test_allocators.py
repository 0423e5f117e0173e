"""Allocators beside small references of their own, and by the rules that their sources state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.passes.memory.allocators import Allocator, OutOfMemoryError, replay
from perfc.passes.memory.allocators.bfc import BfcArena
from perfc.passes.memory.allocators.by_framework import allocator_of
from perfc.passes.memory.allocators.cuda_caching import CudaCaching, rounded, segment_bytes
from perfc.passes.memory.allocators.planned import Planned
from perfc.passes.memory.allocators.trainers import Expandable
from perfc.passes.runtimes import runtime

MIB = 1 << 20
SIZES = st.one_of(
    st.integers(1, 4096),
    st.integers(4096, MIB),
    st.integers(MIB, 30 * MIB),
    st.sampled_from([511, 512, 513, MIB - 1, MIB, MIB + 1, 10 * MIB - 1, 10 * MIB, 19 * MIB]),
)


class Reference:
    """PyTorch's allocator as one list of blocks a segment, searched from end to end."""

    def __init__(self) -> None:
        self.segments: list[tuple[bool, list[list[int]]]] = []  # small?, [[offset, size, key]]

    def allocate(self, key: int, nbytes: int) -> None:
        size = (max(nbytes, 1) + 511) // 512 * 512
        is_small = size <= MIB
        fitting = [
            (block[1], s, i)
            for s, (small, blocks) in enumerate(self.segments)
            for i, block in enumerate(blocks)
            if small is is_small and block[2] < 0 and block[1] >= size
        ]
        if fitting:
            _, s, i = min(fitting)
        else:
            if is_small:
                whole = 2 * MIB
            elif size < 10 * MIB:
                whole = 20 * MIB
            else:
                whole = (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
            self.segments.append((is_small, [[0, whole, -1]]))
            s, i = len(self.segments) - 1, 0
        blocks = self.segments[s][1]
        start, have, _ = blocks[i]
        left = have - size
        if left >= 512 if is_small else left > MIB:
            blocks[i : i + 1] = [[start, size, key], [start + size, left, -1]]
        else:
            blocks[i] = [start, have, key]

    def free(self, key: int) -> None:
        for _, blocks in self.segments:
            for block in blocks:
                if block[2] == key:
                    block[2] = -1
            merged: list[list[int]] = []
            for block in blocks:
                if merged and merged[-1][2] < 0 and block[2] < 0:
                    merged[-1][1] += block[1]
                else:
                    merged.append(block)
            blocks[:] = merged

    @property
    def reserved(self) -> int:
        return sum(b[1] for _, blocks in self.segments for b in blocks)

    @property
    def allocated(self) -> int:
        return sum(b[1] for _, blocks in self.segments for b in blocks if b[2] >= 0)


@st.composite
def traces(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Keys with bytes, below zero where a key is given back."""
    alive: list[int] = []
    found: list[tuple[int, int]] = []
    for key in range(draw(st.integers(1, 40))):
        found.append((key, draw(SIZES)))
        alive.append(key)
        for _ in range(draw(st.integers(0, 2))):
            if alive:
                found.append((alive.pop(draw(st.integers(0, len(alive) - 1))), -1))
    return found


def fed(trace: list[tuple[int, int]], *allocators: object) -> Iterator[None]:
    for key, nbytes in trace:
        for a in allocators:
            if nbytes < 0:
                a.free(key)  # type: ignore[attr-defined]
            else:
                a.allocate(key, nbytes)  # type: ignore[attr-defined]
        yield


@settings(max_examples=300, deadline=None)
@given(traces())
def test_the_caching_allocator_is_that_of_the_reference(trace: list[tuple[int, int]]) -> None:
    ours, reference = CudaCaching(), Reference()
    for _ in fed(trace, ours, reference):
        assert (ours.reserved_bytes, ours.allocated_bytes) == (
            reference.reserved,
            reference.allocated,
        )


@settings(max_examples=100, deadline=None)
@given(traces())
def test_no_allocator_gives_out_more_than_it_holds_nor_less_than_it_was_asked(
    trace: list[tuple[int, int]],
) -> None:
    every: list[Allocator] = [CudaCaching(), BfcArena(), Planned()]
    asked: dict[int, int] = {}
    walk = fed(trace, *every)
    for (key, nbytes), _ in zip(trace, walk, strict=True):
        if nbytes < 0:
            del asked[key]
        else:
            asked[key] = nbytes
        for a in every:
            assert sum(asked.values()) <= a.allocated_bytes <= a.reserved_bytes


def test_sizes_and_segments_are_those_of_the_source() -> None:
    assert [rounded(n) for n in (1, 512, 513)] == [512, 512, 1024]
    found = [
        segment_bytes(n) // MIB for n in (512, MIB, MIB + 512, 10 * MIB - 512, 10 * MIB, 33 * MIB)
    ]
    assert found == [2, 2, 20, 20, 10, 34]
    a = CudaCaching()
    a.allocate(0, 3 * MIB)
    a.allocate(1, 3 * MIB)
    assert a.reserved_bytes == 20 * MIB, "the second is cut from the rest of the first"
    a.allocate(2, 100)
    assert a.reserved_bytes == 22 * MIB
    for key in range(3):
        a.free(key)
    assert (a.reserved_bytes, a.allocated_bytes) == (22 * MIB, 0), "nothing is given back"
    a.allocate(3, 20 * MIB)
    assert a.reserved_bytes == 22 * MIB, "neighbours were merged"


def test_a_full_device_gets_back_what_is_unused_before_it_refuses() -> None:
    a = CudaCaching(40 * MIB)
    a.allocate(0, 12 * MIB)
    a.free(0)
    a.allocate(1, 30 * MIB)
    assert a.reserved_bytes == 30 * MIB
    with pytest.raises(OutOfMemoryError):
        a.allocate(2, 12 * MIB)
    for made in (BfcArena(MIB), Planned(MIB)):
        with pytest.raises(OutOfMemoryError):
            made.allocate(0, 2 * MIB)


def test_the_arena_doubles_and_cuts_by_its_rules() -> None:
    a = BfcArena()
    a.allocate(0, 100)
    assert (a.allocated_bytes, a.reserved_bytes) == (256, MIB)
    a.allocate(1, MIB)
    assert a.reserved_bytes == 3 * MIB, "the second region has twice as much"
    a.allocate(2, 5 * MIB)
    assert a.reserved_bytes == 11 * MIB, "the next power that holds it"
    assert a.allocated_bytes == 256 + MIB + 8 * MIB, "less than half is left: not cut"


def test_the_second_run_finds_what_the_first_left() -> None:
    events = [(-1, 0, 4 * MIB), (0, 1, 18 * MIB), (1, 2, 15 * MIB), (1, 1, -1), (2, 2, -1)]
    once, twice = (replay(events, CudaCaching(), 3, runs) for runs in (1, 2))
    assert once.reserved_bytes == 20 * MIB + 18 * MIB
    assert twice.reserved_bytes == once.reserved_bytes
    assert (once.peak_step, twice.peak_step) == (1, 1)
    assert once.allocated_line == (22 * MIB, 38 * MIB, 20 * MIB)


def test_frameworks_have_their_allocators() -> None:
    names = ("eager", "ort", "tensorrt", "trainer")
    assert [allocator_of(runtime(n)) for n in names] == [CudaCaching, BfcArena, Planned, Expandable]
    assert len({a.title for a in (CudaCaching, BfcArena, Planned)}) == 3
