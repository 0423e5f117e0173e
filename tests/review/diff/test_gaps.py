"""Pairings of two sequences: the longest, the best, the gaps between them; edges of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.review.diff.align import longest_equal
from perfc.review.diff.gaps import LARGEST_GAP, aligned, gaps, increasing
from perfc.review.diff.wiring import OUTSIDE, skeleton, wiring
from perfc.testing import module

PAIRS = st.lists(st.integers(0, 9), max_size=7, unique=True).map(lambda new: [*enumerate(new)])


def is_chain(pairs: Iterable[tuple[int, int]]) -> bool:
    return all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(PAIRS)
def test_the_longest_chain_is_one_of_all(pairs: list[tuple[int, int]]) -> None:
    found = increasing(pairs)
    assert is_chain(found)
    assert set(found) <= set(pairs)
    assert not any(is_chain(c) for c in combinations(sorted(pairs), len(found) + 1))


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_the_best_pairing_has_the_largest_sum(old: str, new: str) -> None:
    def score(i: int, j: int) -> float:
        return 1.0 + i / 8 if old[i] == new[j] else 0.0

    found = aligned(range(len(old)), range(len(new)), score)
    every = [(i, j) for i in range(len(old)) for j in range(len(new)) if score(i, j)]
    sums = [
        sum(score(*p) for p in c)
        for n in range(len(every) + 1)
        for c in combinations(every, n)
        if n <= min(len(old), len(new)) and is_chain(c)
    ]
    assert is_chain(found)
    assert set(found) <= set(every)
    assert sum(score(*p) for p in found) == max(sums)


def test_large_gaps_are_halved() -> None:
    count = int(LARGEST_GAP**0.5) + 2
    same = list(range(count))
    shifted = [i + count // 2 for i in same]
    found = aligned(same, shifted, lambda i, j: float(i == j))
    assert len(found) < len(set(same) & set(shifted)), "no pair leads from half to half"


@pytest.mark.parametrize(
    ("frame", "between"),
    [
        ([], [([0, 2, 5], [1, 3])]),
        ([(1, 2)], [([0], [1]), ([2, 5], [3])]),
        ([(6, 0)], []),
    ],
)
def test_gaps_lie_between_pairs_of_the_frame(
    frame: list[tuple[int, int]], between: list[tuple[list[int], list[int]]]
) -> None:
    assert list(gaps([0, 2, 5], [1, 3], frame)) == between


def test_chains_of_equal_layers_are_not_compared_pair_by_pair() -> None:
    assert longest_equal("xabcy", "zabcab") == (1, 1, 3)
    assert longest_equal(["conv"] * 2_000, ["conv"] * 2_000) == (0, 0, 0)


def test_wires_lead_from_makers_to_readers() -> None:
    lines = ("%a = relu(%x)", "%b = exp(%a)", "%c = sub(%a, %b)", "%d = add(%c, %a)")
    wires = wiring(module("%x: f32[4, 8]", *(f"{line} : f32[4, 8]" for line in lines)).graph)
    assert wires.before == [(OUTSIDE,), (0,), (0, 1), (2, 0)]
    assert wires.after == [[(1, 0), (2, 0), (3, 0)], [(2, 1)], [(3, 0)], []]
    kept, numbers = skeleton(wires, lambda n: n.op.mnemonic in ("relu", "add"))
    assert numbers == [0, 3]
    assert kept.before == [(), (0,)]
    assert kept.after == [[(1, 0)], []]
