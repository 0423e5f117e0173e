"""Levels of a memory hierarchy, detected as plateaus of bandwidth over working set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from perfc.ir import record

MIN_POINTS = 3
"""Minimum sizes of a plateau; two may be the slope between two levels."""
SAME = 0.22
"""Maximum difference in ln(bandwidth) within one level: a quarter of the bandwidth."""
NOISE = 0.06
"""Assumed standard deviation of ln(bandwidth) at one size, by which an additional piece is
priced."""


@record
class Plateau:
    """Range of working sets with one bandwidth: a level of the memory hierarchy.

    Args:
        sizes: working sets in bytes, without those between two levels.
        rate: median of the upper half of the bandwidths at these sizes, in bytes per second.
        capacity: working set in bytes where the bandwidth has fallen half way, in logarithms, to
            the next level; infinite for the last.
    """

    sizes: tuple[int, ...]
    rate: float
    capacity: float


def plateaus(sizes: Sequence[int], rates: Sequence[float], *, most: int = 4) -> tuple[Plateau, ...]:
    """Return at most ``most`` levels from the smallest to the largest working set.

    Bandwidth never grows with the working set, so the logarithms are made monotone first; then
    the piecewise constant curve of least deviation is fitted, with a penalty per piece; pieces
    at one rate are joined, and short ones between two levels are slopes, which are dropped.

    Source: Ayer et al. 1955 (pool adjacent violators); Jackson et al. 2005 (optimal partitioning).
    """
    # fewer sizes cannot show two levels
    if len(sizes) < 2 * MIN_POINTS:
        return ()
    raw = [math.log(r) for r in rates]
    levels = falling(raw)
    # Short ends are joined to their neighbors first: `_without_slopes` never drops the first or
    # last piece, so a short end would be a level, and its neighbor could be dropped as a slope.
    pieces = _join_same(_with_full_ends(_partition(levels)), levels)
    pieces = _without_slopes(pieces, levels)
    while len(pieces) > most:
        pieces = _join_closest(pieces, levels)
    middles = [_mean(levels, p) for p in pieces]
    result = list[Plateau]()
    for i, piece in enumerate(pieces):
        # interference only lowers rates, so the upper half counts
        half = sorted(raw[j] for j in piece)[len(piece) // 2 :]
        capacity = math.inf
        if i + 1 < len(pieces):
            # half way between both levels, in logarithms
            capacity = _crossing(sizes, levels, (middles[i] + middles[i + 1]) / 2, piece[-1])
        piece_sizes = tuple(sizes[j] for j in piece)
        result.append(Plateau(piece_sizes, math.exp(half[len(half) // 2]), capacity))
    return tuple(result)


def falling(values: Sequence[float]) -> list[float]:
    """Return the closest non-increasing sequence in least squares."""
    blocks = list[tuple[float, int]]()
    for value in values:
        mean, count = value, 1
        while blocks and blocks[-1][0] < mean:
            mean_before, count_before = blocks.pop()
            mean, count = (
                (mean * count + mean_before * count_before) / (count + count_before),
                count + count_before,
            )
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


def _partition(values: list[float]) -> list[range]:
    """Return pieces, as ranges of indices, of least squared deviation plus a penalty per piece."""
    n = len(values)
    # The Bayesian information criterion, σ²·ln(n) per parameter, for the two parameters of a piece,
    # its end and its level. Three times that, an assumption, makes pieces fewer.
    price = 2 * math.log(n) * NOISE**2 * 3
    # prefix sums give the squared deviation of any piece at once
    total, square = [0.0], [0.0]
    for v in values:
        total.append(total[-1] + v)
        square.append(square[-1] + v * v)

    def cost(i: int, j: int) -> float:
        # the squared deviation of values[i:j] from their mean
        return square[j] - square[i] - (total[j] - total[i]) ** 2 / (j - i)

    # by the number of values covered: the least cost, and where the last piece begins
    best, cut = [0.0] + [math.inf] * n, [0] * (n + 1)
    for j in range(1, n + 1):
        for i in range(j):
            candidate = best[i] + cost(i, j) + price
            if candidate < best[j]:
                best[j], cut[j] = candidate, i
    pieces, j = list[range](), n
    while j:
        pieces.append(range(cut[j], j))
        j = cut[j]
    return pieces[::-1]


def _with_full_ends(pieces: list[range]) -> list[range]:
    """Return pieces with short first and last ones joined to their only neighbor."""
    while len(pieces) > 1 and len(pieces[-1]) < MIN_POINTS:
        pieces = _join_pair(pieces, len(pieces) - 2)
    while len(pieces) > 1 and len(pieces[0]) < MIN_POINTS:
        pieces = _join_pair(pieces, 0)
    return pieces


def _join_pair(pieces: list[range], i: int) -> list[range]:
    """Return pieces with number ``i`` and the next one joined."""
    return [*pieces[:i], range(pieces[i].start, pieces[i + 1].stop), *pieces[i + 2 :]]


def _mean(values: list[float], piece: range) -> float:
    """Return the mean over a piece."""
    return sum(values[i] for i in piece) / len(piece)


def _join_same(pieces: list[range], values: list[float]) -> list[range]:
    """Return pieces with neighbors that differ by less than ``SAME`` joined, the closest first."""
    while any(_gap(values, a, b) < SAME for a, b in pairwise(pieces)):
        pieces = _join_closest(pieces, values)
    return pieces


def _gap(values: list[float], a: range, b: range) -> float:
    """Return the difference between the means of two pieces."""
    return abs(_mean(values, a) - _mean(values, b))


def _without_slopes(pieces: list[range], values: list[float]) -> list[range]:
    """Return pieces without slopes: those between two others that are short or steep."""
    remaining = list[range]()
    for i, piece in enumerate(pieces):
        # the first and the last piece are levels: there is no other level to slope from or to
        is_inner = 0 < i < len(pieces) - 1
        # three sizes, the minimum of a level, must not fall by more than SAME in their two steps
        fall = values[piece[0]] - values[piece[-1]]
        is_steep = fall / max(len(piece) - 1, 1) > SAME / 2
        if is_inner and (len(piece) < MIN_POINTS or is_steep):
            continue
        remaining.append(piece)
    return remaining


def _join_closest(pieces: list[range], values: list[float]) -> list[range]:
    """Return pieces with the two closest neighbors joined, whatever their difference."""
    gaps = [_gap(values, a, b) for a, b in pairwise(pieces)]
    return _join_pair(pieces, gaps.index(min(gaps)))


def _crossing(sizes: Sequence[int], values: list[float], level: float, start: int) -> float:
    """Return the size where ``values`` falls through ``level``, interpolated in logarithms."""
    for i in range(start, len(sizes) - 1):
        if values[i + 1] <= level <= values[i]:
            fall = values[i] - values[i + 1]
            share = (values[i] - level) / fall if fall else 0.5
            return float(sizes[i] * (sizes[i + 1] / sizes[i]) ** share)
    return float(sizes[start])
