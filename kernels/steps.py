"""Finds the levels of a memory hierarchy as plateaus of bandwidth against working set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from perfc.ir.record import record

MIN_POINTS = 3
"""A plateau has at least so many sizes; two may be the slope between two levels."""
SAME = 0.22
"""Levels closer than this in ln(bandwidth), a quarter, are one level."""
NOISE = 0.06
"""Deviation in ln(bandwidth) that costs as much as what explains it by chance."""


@record
class Plateau:
    """Working sets of one level.

    Args:
        sizes: in bytes, those between two levels left out.
        rate: median of the upper half of what was measured at these sizes.
        capacity: working set where the bandwidth has fallen half way, in logarithms, to the next
            level; infinite for the last.
    """

    sizes: tuple[int, ...]
    rate: float
    capacity: float


def plateaus(sizes: Sequence[int], rates: Sequence[float], *, most: int = 4) -> tuple[Plateau, ...]:
    """Levels from the smallest to the largest working set, ``most`` of them.

    Bandwidth never grows with the working set, so the logarithms are made monotone first; then
    the piecewise constant curve is sought that deviates least, each piece paid for; pieces that
    are alike are joined, and short ones between two levels are the slope and left out.

    Source: Ayer et al. 1955 (pool adjacent violators); Jackson et al. 2005 (optimal partitioning).
    """
    if len(sizes) < 2 * MIN_POINTS:
        return ()
    raw = [math.log(r) for r in rates]
    levels = falling(raw)
    pieces = _join(_with_full_ends(_partition(levels)), levels)
    pieces = _without_slopes(pieces, levels)
    while len(pieces) > most:
        pieces = _join_closest(pieces, levels)
    middles = [_mean(levels, p) for p in pieces]
    found = list[Plateau]()
    for i, (first, last) in enumerate(pieces):
        half = sorted(raw[first:last])[(last - first) // 2 :]
        capacity = math.inf
        if i + 1 < len(pieces):
            capacity = _crossing(sizes, levels, (middles[i] + middles[i + 1]) / 2, last - 1)
        found.append(Plateau(tuple(sizes[first:last]), math.exp(half[len(half) // 2]), capacity))
    return tuple(found)


def falling(values: Sequence[float]) -> list[float]:
    """The closest sequence that never grows, in squares."""
    blocks = list[tuple[float, int]]()
    for value in values:
        mean, count = value, 1
        while blocks and blocks[-1][0] < mean:
            other, many = blocks.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


def _partition(values: list[float]) -> list[tuple[int, int]]:
    """Pieces ``[first, last)`` of least squared deviation plus a price for each."""
    n = len(values)
    price = 2 * math.log(n) * NOISE**2 * 3
    total, square = [0.0], [0.0]
    for v in values:
        total.append(total[-1] + v)
        square.append(square[-1] + v * v)

    def cost(i: int, j: int) -> float:
        return square[j] - square[i] - (total[j] - total[i]) ** 2 / (j - i)

    best, cut = [0.0] + [math.inf] * n, [0] * (n + 1)
    for j in range(1, n + 1):
        for i in range(j):
            candidate = best[i] + cost(i, j) + price
            if candidate < best[j]:
                best[j], cut[j] = candidate, i
    pieces, j = list[tuple[int, int]](), n
    while j:
        pieces.append((cut[j], j))
        j = cut[j]
    return pieces[::-1]


def _with_full_ends(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first and the last piece have no neighbour on one side: too short, they join it."""
    while len(pieces) > 1 and pieces[-1][1] - pieces[-1][0] < MIN_POINTS:
        pieces = [*pieces[:-2], (pieces[-2][0], pieces[-1][1])]
    while len(pieces) > 1 and pieces[0][1] - pieces[0][0] < MIN_POINTS:
        pieces = [(pieces[0][0], pieces[1][1]), *pieces[2:]]
    return pieces


def _mean(values: list[float], piece: tuple[int, int]) -> float:
    return sum(values[piece[0] : piece[1]]) / (piece[1] - piece[0])


def _join(pieces: list[tuple[int, int]], values: list[float]) -> list[tuple[int, int]]:
    """Neighbours that differ by less than ``SAME`` become one, the closest first."""
    while len(pieces) > 1:
        gaps = [_gap(values, a, b) for a, b in pairwise(pieces)]
        if min(gaps) >= SAME:
            break
        i = gaps.index(min(gaps))
        pieces = [*pieces[:i], (pieces[i][0], pieces[i + 1][1]), *pieces[i + 2 :]]
    return pieces


def _gap(values: list[float], a: tuple[int, int], b: tuple[int, int]) -> float:
    return abs(_mean(values, a) - _mean(values, b))


def _without_slopes(pieces: list[tuple[int, int]], values: list[float]) -> list[tuple[int, int]]:
    """Leave out pieces that are short or steep and lie between others."""
    kept = list[tuple[int, int]]()
    for i, (first, last) in enumerate(pieces):
        inner = 0 < i < len(pieces) - 1
        steep = (values[first] - values[last - 1]) / max(last - 1 - first, 1) > SAME / 2
        if inner and (last - first < MIN_POINTS or steep):
            continue
        kept.append((first, last))
    return kept


def _join_closest(pieces: list[tuple[int, int]], values: list[float]) -> list[tuple[int, int]]:
    gaps = [_gap(values, a, b) for a, b in pairwise(pieces)]
    i = gaps.index(min(gaps))
    return [*pieces[:i], (pieces[i][0], pieces[i + 1][1]), *pieces[i + 2 :]]


def _crossing(sizes: Sequence[int], values: list[float], level: float, start: int) -> float:
    """Size where ``values`` falls through ``level``, between sizes in logarithms."""
    for i in range(start, len(sizes) - 1):
        if values[i + 1] <= level <= values[i]:
            fall = values[i] - values[i + 1]
            share = (values[i] - level) / fall if fall else 0.5
            return float(sizes[i] * (sizes[i + 1] / sizes[i]) ** share)
    return float(sizes[start])
