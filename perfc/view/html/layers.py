"""Layered layout of directed graphs: ranks, order within ranks, coordinates, columns.

Source: Sugiyama et al. 1981, as longest-path ranks and barycentre sweeps. Straight lines stand for
edges, so there are no dummy vertices on edges that pass several ranks: a long edge may run behind
a box. Ranks are laid out in columns, as text on a page, once they would be too tall to look at.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from perfc.ir import record

STEP_X, STEP_Y = 150, 64
"""Pixels between centers of neighbors in a rank, and between ranks; boxes are 132 by 42 pixels
(``scripts/graph.js``)."""
WIDEST = 12
"""Maximum number of vertices side by side; a larger rank takes several lines."""
TALLEST = 16
"""Number of ranks above which a drawing is broken into columns."""
ASPECT = 1.9
"""Preferred width over height of a drawing in columns, as of a window."""
SWEEPS = 4
"""Sweeps of the barycenter heuristic, down and up in turn; later ones change few places."""

Edge = tuple[int, int]


@record
class Drawing:
    """Center coordinates of each vertex's box."""

    x: tuple[int, ...]
    y: tuple[int, ...]


def drawing(count: int, edges: Sequence[Edge]) -> Drawing:
    """Compute coordinates of ``count`` vertices in execution order.

    Args:
        count: number of vertices; earlier ones are placed higher.
        edges: pairs of producer and reader; they may form cycles if a module is left and entered
            again.
    """
    order = sequence(count, edges)
    place = {v: i for i, v in enumerate(order)}
    forward = sorted({(place[a], place[b]) for a, b in edges if place[a] < place[b]})
    rows = ordered(ranks(count, forward), forward)
    drawn = in_columns(rows, placed(rows, forward))
    x, y = ([line[place[v]] for v in range(count)] for line in (drawn.x, drawn.y))
    return Drawing(tuple(x), tuple(y))


def sequence(count: int, edges: Sequence[Edge]) -> list[int]:
    """Sort vertices topologically, ties by number; cycles are cut at their first vertex."""
    waits = [0] * count
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in set(edges):
        if a != b:
            waits[b] += 1
            below[a].append(b)
    ready = [v for v in range(count) if not waits[v]]
    is_placed = [False] * count
    order: list[int] = []
    first = 0
    while len(order) < count:
        if ready:
            v = heapq.heappop(ready)
        else:
            # all vertices left are in or behind a cycle: the first is placed before its producers
            v = first = next(u for u in range(first, count) if not is_placed[u])
        if is_placed[v]:
            continue
        is_placed[v] = True
        order.append(v)
        for u in below[v]:
            waits[u] -= 1
            if not waits[u] and not is_placed[u]:
                heapq.heappush(ready, u)
    return order


def ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return ranks by longest path: each vertex is directly above the highest of its readers."""
    below = [0] * count
    # from the last vertex on, so that the rank of a reader is known before that of its producer
    for a, b in sorted(edges, key=lambda e: -e[0]):
        below[a] = max(below[a], below[b] + 1)
    joined = {v for e in edges for v in e}
    last = max(below, default=0)
    # ``below`` counts from the last rank up; vertices without edges stand in the first rank
    return [last - r if v in joined else 0 for v, r in enumerate(below)]


def ordered(rank: Sequence[int], edges: Sequence[Edge]) -> list[list[int]]:
    """Order the vertices of each rank near their neighbors."""
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for v, r in enumerate(rank):
        rows[r].append(v)
    above, below = neighbours(len(rank), edges)
    place = {v: float(i) for row in rows for i, v in enumerate(row)}
    for sweep in range(SWEEPS):
        neighbors = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=lambda v: mean([place[u] for u in neighbors[v]], place[v]))
            for i, v in enumerate(row):
                place[v] = i - (len(row) - 1) / 2  # centered, to compare ranks of any width
    return [row[i : i + WIDEST] for row in rows for i in range(0, len(row), WIDEST)]


def neighbours(count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """Return producers and readers of each vertex."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    return above, below


def placed(rows: Sequence[Sequence[int]], edges: Sequence[Edge]) -> dict[int, float]:
    """Place each vertex below the mean of its producers, as far as neighbors allow."""
    above, _ = neighbours(sum(map(len, rows)), edges)
    places: dict[int, float] = {}
    # all producers are in earlier rows; a vertex without any keeps its place in a centered row
    for row in rows:
        middle = (len(row) - 1) / 2
        wanted = [mean([places[u] for u in above[v]], i - middle) for i, v in enumerate(row)]
        # each vertex is at least one place to the right of its neighbor; the row is then shifted by
        # its mean distance from the wanted places
        positions: list[float] = []
        for want in wanted:
            positions.append(max(want, positions[-1] + 1) if positions else want)
        shift = mean([w - f for w, f in zip(wanted, positions, strict=True)], 0.0)
        places.update((v, f + shift) for v, f in zip(row, positions, strict=True))
    return places


def in_columns(rows: Sequence[Sequence[int]], at: dict[int, float]) -> Drawing:
    """Lay out ranks from top to bottom, broken into columns if they are many.

    Args:
        rows: vertices of each rank, from left to right.
        at: horizontal place of each vertex, in steps of neighbors.
    """
    spans = [(min(map(at.__getitem__, r)), max(map(at.__getitem__, r))) for r in rows]
    height = best_height(spans) if len(rows) > TALLEST else len(rows)
    x, y = [0] * len(at), [0] * len(at)
    left = 0.0
    for start in range(0, len(rows), height or 1):
        inside = spans[start : start + height]
        offset = left - min(low for low, _ in inside)
        for i, row in enumerate(rows[start : start + height]):
            for v in row:
                x[v], y[v] = round((at[v] + offset) * STEP_X), i * STEP_Y
        left += width_of(inside)
    return Drawing(tuple(x), tuple(y))


def best_height(spans: Sequence[tuple[float, float]]) -> int:
    """Return the ranks per column that bring the drawing nearest to the shape of a window."""
    most_columns = max(len(spans) // TALLEST, 1)
    heights = {max(math.ceil(len(spans) / n), TALLEST) for n in range(1, most_columns + 1)}

    def unlikeness(height: int) -> float:
        starts = range(0, len(spans), height)
        width = sum(width_of(spans[s : s + height]) for s in starts) * STEP_X
        return abs(math.log(width / (height * STEP_Y) / ASPECT))

    return min(sorted(heights), key=unlikeness)  # the lowest of equals, in any order of the set


def width_of(spans: Sequence[tuple[float, float]]) -> float:
    """Return the width of a column in steps: its centers, a box, and an empty step."""
    return max(high for _, high in spans) - min(low for low, _ in spans) + 2


def mean(values: Sequence[float], otherwise: float) -> float:
    """Return the mean, or ``otherwise`` without values."""
    return sum(values) / len(values) if values else otherwise
