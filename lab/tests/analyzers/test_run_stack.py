"""Runs are dealt out by their graphs, those of most runs apart."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfc_lab.training.runs.run_stack import RunStack


def of_graphs(rows: list[int]) -> RunStack:
    """As many runs of each graph, in some order."""
    graph = np.repeat(np.arange(len(rows)), rows)
    order = np.random.default_rng(len(rows)).permutation(len(graph))
    nothing = cast("Any", None)
    return RunStack(nothing, nothing, nothing, graph[order], nothing)


@given(st.lists(st.integers(1, 60), min_size=5, max_size=30), st.integers(0, 9))
def test_a_graph_is_in_one_part_and_no_part_has_many_more_runs(rows: list[int], seed: int) -> None:
    stack = of_graphs(rows)
    part = stack.balanced(5, seed)
    assert len(set(zip(stack.graph.tolist(), part.tolist(), strict=True))) == len(rows)
    load = np.bincount(part, minlength=5)
    # the least part had fewest before the last graph of any other came
    assert load.min() > 0
    assert load.max() - load.min() <= max(rows)


def test_two_graphs_of_most_runs_are_never_together() -> None:
    rows = [500, 480, *(5 for _ in range(60))]
    for seed in range(10):
        stack = of_graphs(rows)
        part = stack.balanced(3, seed)
        large, base = (set(part[stack.graph == graph].tolist()) for graph in (0, 1))
        assert large.isdisjoint(base)


def test_a_seed_deals_always_the_same_and_others_deal_otherwise() -> None:
    stack = of_graphs([7] * 40)
    first, again, other = (stack.balanced(4, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
