"""Where vertices of a drawing stand: rows near what they are joined to, and ranks by hand."""

from __future__ import annotations

from itertools import product

from perfc.view.html.layers import neighbours, ordered


def crossings(rows: list[list[int]], edges: list[tuple[int, int]]) -> int:
    """Pairs of edges between two rows that cross."""
    place = {v: (r, i) for r, row in enumerate(rows) for i, v in enumerate(row)}
    pairs = product(edges, repeat=2)
    return sum(
        place[a][0] == place[c][0]
        and place[b][0] == place[d][0]
        and place[a][1] < place[c][1]
        and place[b][1] > place[d][1]
        for (a, b), (c, d) in pairs
    )


def test_rows_are_turned_until_edges_do_not_cross() -> None:
    # three chains, given so that each row is in another order than the one above
    edges = [(0, 5), (1, 4), (2, 3), (3, 7), (4, 8), (5, 6)]
    rank = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert crossings([[0, 1, 2], [3, 4, 5], [6, 7, 8]], edges) == 5
    assert crossings(ordered(rank, edges), edges) == 0


def test_a_first_row_follows_the_last() -> None:
    # the vertices of the first row hang on those of the second alone
    edges = [(0, 4), (1, 3), (2, 5), (3, 6), (4, 7), (5, 7)]
    rows = ordered([0, 0, 0, 1, 1, 1, 2, 2], edges)
    assert crossings(rows, edges) == 0
    assert [sorted(row) for row in rows] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_readers_and_read() -> None:
    above, below = neighbours(3, [(0, 1), (0, 2), (1, 2)])
    assert above == [[], [0], [0, 1]]
    assert below == [[1, 2], [2], []]
