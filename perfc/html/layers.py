"""Layered drawing of a directed graph: ranks, an order within each, coordinates, columns.

Source: Sugiyama et al. 1981, as longest-path ranks and barycentre sweeps. Straight lines stand for
edges, so there are no dummy vertices on edges that pass several ranks: a long edge may run behind
a box. Ranks are laid out in columns, as text on a page, once they would be too tall to look at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

STEP_X, STEP_Y = 150, 64
"""Distance of neighbours in a rank, and of ranks."""
WIDEST = 12
"""Vertices side by side; a rank of more goes on in the next line."""
TALLEST = 30
"""Ranks below each other before a drawing is broken into columns."""
ASPECT = 1.9
"""Width over height of a drawing in columns."""
SWEEPS = 4

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where each vertex stands: the middle of its box."""

    x: tuple[int, ...]
    y: tuple[int, ...]


def drawing(count: int, edges: Sequence[Edge]) -> Drawing:
    """Coordinates of ``count`` vertices in execution order.

    Args:
        count: vertices are 0 to ``count - 1``; one earlier in the order stands higher.
        edges: from, to. Those against the order (a module left and entered again) have no say.
    """
    forward = sorted({(a, b) for a, b in edges if a < b})
    rows = ordered(ranks(count, forward), forward)
    across = placed(rows, forward)
    return in_columns(rows, across)


def ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Longest path from a source; a source stands right above the first that reads it."""
    rank = [0] * count
    is_source = [True] * count
    for a, b in sorted(edges, key=lambda e: e[1]):
        rank[b] = max(rank[b], rank[a] + 1)
        is_source[b] = False
    first: dict[int, int] = {}
    for a, b in edges:
        first[a] = min(first.get(a, rank[b]), rank[b])
    return [max(first.get(v, 1) - 1, 0) if is_source[v] and v else rank[v] for v in range(count)]


def ordered(rank: Sequence[int], edges: Sequence[Edge]) -> list[list[int]]:
    """Vertices of each rank from left to right, near those they are joined to."""
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for v, r in enumerate(rank):
        rows[r].append(v)
    above, below = neighbours(len(rank), edges)
    place = {v: float(i) for row in rows for i, v in enumerate(row)}
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=lambda v: mean([place[u] for u in near[v]], place[v]))
            for i, v in enumerate(row):
                place[v] = i - (len(row) - 1) / 2
    return [row[i : i + WIDEST] for row in rows for i in range(0, len(row), WIDEST)]


def neighbours(count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """What each vertex reads from, and what reads it."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    return above, below


def placed(rows: Sequence[Sequence[int]], edges: Sequence[Edge]) -> dict[int, float]:
    """Each vertex below the middle of what it reads, as far as its neighbours leave room."""
    above, _ = neighbours(sum(map(len, rows)), edges)
    at: dict[int, float] = {}
    for row in rows:
        middle = (len(row) - 1) / 2
        wanted = [mean([at[u] for u in above[v] if u in at], i - middle) for i, v in enumerate(row)]
        found: list[float] = []
        for want in wanted:
            found.append(max(want, found[-1] + 1) if found else want)
        shift = mean([w - f for w, f in zip(wanted, found, strict=True)], 0.0)
        at.update((v, f + shift) for v, f in zip(row, found, strict=True))
    return at


def in_columns(rows: Sequence[Sequence[int]], at: dict[int, float]) -> Drawing:
    """Ranks from top to bottom, broken into columns where that looks better."""
    height = len(rows)
    if height > TALLEST:
        width = mean([max(map(at.__getitem__, r)) - min(map(at.__getitem__, r)) for r in rows], 0)
        ratio = ASPECT * height * STEP_Y / ((width + 2) * STEP_X)
        height = max(TALLEST, math.ceil(len(rows) / max(round(math.sqrt(ratio)), 1)))
    x, y = [0] * len(at), [0] * len(at)
    left = 0.0
    for start in range(0, len(rows), height):
        column = rows[start : start + height]
        inside = [at[v] for row in column for v in row]
        offset = left - min(inside)
        for i, row in enumerate(column):
            for v in row:
                x[v], y[v] = round((at[v] + offset) * STEP_X), i * STEP_Y
        left += max(inside) - min(inside) + 2
    return Drawing(tuple(x), tuple(y))


def mean(values: Sequence[float], otherwise: float) -> float:
    """The mean, or ``otherwise`` of nothing."""
    return sum(values) / len(values) if values else otherwise
