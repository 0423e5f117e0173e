"""Alignment of two sequences of nodes by the highest sum of scores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

LARGEST_GAP = 250_000
"""Maximum cells of the table of sums, as time and memory grow with them; larger gaps are halved."""


def increasing(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest chain of pairs that increases on both sides (patience sorting)."""
    ordered = sorted(pairs)
    # at index n, of all chains of n + 1 pairs: the lowest new number at an end, and the index of
    # that end in ``ordered``
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []  # index of the pair before each pair in its chain
    for k, (_, j) in enumerate(ordered):
        place = bisect_left(tails, j)
        previous.append(ends[place - 1] if place else -1)
        if place == len(tails):
            tails.append(j)
            ends.append(k)
        else:
            tails[place], ends[place] = j, k
    chain: list[tuple[int, int]] = []
    k = ends[-1] if ends else -1
    while k >= 0:
        chain.append(ordered[k])
        k = previous[k]
    return chain[::-1]


def gaps(
    old: Sequence[int], new: Sequence[int], frame: Sequence[tuple[int, int]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the unmatched numbers between adjacent pairs of the frame."""
    a = b = 0
    for i, j in (*frame, (1 << 62, 1 << 62)):  # beyond all nodes: the last gap
        left: list[int] = []
        right: list[int] = []
        while a < len(old) and old[a] < i:
            left.append(old[a])
            a += 1
        while b < len(new) and new[b] < j:
            right.append(new[b])
            b += 1
        if left and right:
            yield left, right


def aligned(
    old: Sequence[int], new: Sequence[int], score: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """Return the ordered pairing with the largest sum of scores; scores of 0 or less never pair.

    Source: Needleman & Wunsch 1970, gaps free.
    """
    # halves of a large gap are aligned without pairs across
    if len(old) * len(new) > LARGEST_GAP:
        half_old, half_new = len(old) // 2, len(new) // 2
        first = aligned(old[:half_old], new[:half_new], score)
        return first + aligned(old[half_old:], new[half_new:], score)
    width = len(new) + 1
    # best[a * width + b] is the largest sum for the first a old and b new nodes
    best = [0.0] * ((len(old) + 1) * width)
    gain = [score(i, j) for i in old for j in new]
    for a in range(1, len(old) + 1):
        row, above, here = a * width, (a - 1) * width, (a - 1) * len(new)
        for b in range(1, width):
            value = max(best[above + b], best[row + b - 1])
            pair = gain[here + b - 1]
            if pair > 0 and best[above + b - 1] + pair > value:
                value = best[above + b - 1] + pair
            best[row + b] = value
    # back from the corner: where neither neighbor has the same sum, a pair was added
    pairs: list[tuple[int, int]] = []
    a, b = len(old), len(new)
    while a and b:
        value = best[a * width + b]
        if value == best[(a - 1) * width + b]:
            a -= 1
        elif value == best[a * width + b - 1]:
            b -= 1
        else:
            a, b = a - 1, b - 1
            pairs.append((old[a], new[b]))
    return pairs[::-1]
