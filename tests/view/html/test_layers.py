"""Drawings of graphs: readers stand below what they read, boxes never on each other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.view.html.layers import ASPECT, STEP_X, STEP_Y, TALLEST, WIDEST, drawing, sequence

EDGES = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=120),
    )
)


@given(EDGES)
@settings(max_examples=150, deadline=None)
def test_no_two_boxes_share_a_place(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    drawn = drawing(count, edges)
    for i in range(count):
        for j in range(i):
            apart = abs(drawn.x[i] - drawn.x[j]) >= 0.99 * STEP_X
            assert apart or drawn.y[i] != drawn.y[j]


@given(EDGES)
@settings(max_examples=150, deadline=None)
def test_readers_stand_below_what_they_read_within_a_column(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    forward = [(a, b) for a, b in edges if a < b]
    drawn = drawing(count, forward)
    if max(drawn.y) < (TALLEST - 1) * STEP_Y:
        assert all(drawn.y[a] < drawn.y[b] for a, b in forward)


@given(EDGES)
@settings(max_examples=150, deadline=None)
def test_every_vertex_comes_once_and_behind_what_it_reads(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    assert sorted(sequence(count, edges)) == list(range(count))
    forward = [(a, b) for a, b in edges if a < b]
    place = {v: i for i, v in enumerate(sequence(count, forward))}
    assert all(place[a] < place[b] for a, b in forward)


def test_a_module_that_is_read_by_one_before_it_in_the_file_stands_above() -> None:
    # 2 -> 3 -> 1 although 1 came first: exporters write helpers of later modules late
    drawn = drawing(4, [(0, 1), (2, 3), (3, 1)])
    assert drawn.y[2] < drawn.y[3] < drawn.y[1]


def test_long_chains_fill_a_window_and_wide_ranks_go_on_below() -> None:
    long = drawing(3000, [(i, i + 1) for i in range(2999)])
    assert 0.5 * ASPECT < max(long.x) / max(long.y) < 2 * ASPECT
    wide = drawing(200, [(0, i) for i in range(1, 200)])
    for y in set(wide.y):
        assert wide.y.count(y) <= WIDEST


def test_nothing_and_one_can_be_drawn() -> None:
    assert drawing(0, []).x == ()
    assert drawing(1, [(0, 0)]).y == (0,)
