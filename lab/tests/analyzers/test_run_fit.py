"""Folds of graphs and chips that calibrate the predictor of whole runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfc_lab.training.runs.run_fit import (
    LEAST_LEFT_OUT,
    balanced,
    chips,
    chips_left_out,
    of_runtime,
    training_chips,
)


def of_graphs(rows: list[int]) -> np.ndarray:
    """The graph of each run, in some order."""
    graph = np.repeat(np.arange(len(rows)), rows)
    return graph[np.random.default_rng(len(rows)).permutation(len(graph))]


@given(st.lists(st.integers(1, 60), min_size=5, max_size=30), st.integers(0, 9))
def test_a_graph_is_in_one_part_and_no_part_has_many_more_runs(rows: list[int], seed: int) -> None:
    graph = of_graphs(rows)
    part = balanced(graph, 5, seed)
    assert len(set(zip(graph.tolist(), part.tolist(), strict=True))) == len(rows)
    load = np.bincount(part, minlength=5)
    # the least part had fewest before the last graph of any other came
    assert load.min() > 0
    assert load.max() - load.min() <= max(rows)


def test_two_graphs_of_most_runs_are_never_together() -> None:
    graph = of_graphs([500, 480, *(5 for _ in range(60))])
    for seed in range(10):
        part = balanced(graph, 3, seed)
        assert set(part[graph == 0]).isdisjoint(part[graph == 1])


def test_a_seed_deals_always_the_same_and_others_deal_otherwise() -> None:
    graph = of_graphs([7] * 40)
    first, again, other = (balanced(graph, 4, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_chip_is_held_out_with_all_newer_ones() -> None:
    names = {"a10", "a100-sxm4-40gb", "a40", "h100-sxm5-80gb", "l4", "v100-sxm2-16gb", "t4"}
    assert training_chips("a100-sxm4-40gb", names) == {"v100-sxm2-16gb", "t4"}
    assert "l4" not in training_chips("a10", names)
    assert training_chips("l4", names) == names - {"l4", "h100-sxm5-80gb"}
    # one chip alone is too few to fit on
    assert training_chips("t4", names) == names - {"t4"}


def on(*targets: str) -> list[Any]:
    """A run on each machine."""
    return [
        SimpleNamespace(row=SimpleNamespace(deployment=SimpleNamespace(target=name)))
        for name in targets
    ]


def test_boards_of_one_chip_are_of_one_generation() -> None:
    boards = "rtx2080ti", "titan-rtx", "v100-pcie-16gb", "v100-sxm2-16gb", "v100-sxm2-32gb"
    # the sheets of a Titan RTX and a V100 are as near as those of two V100
    assert chips(on(*boards)) == ["rtx2080ti"] * 2 + ["v100-pcie-16gb"] * 3


def test_a_band_borrows_from_runtimes_with_the_same_kernels() -> None:
    every = {"ort": "cuDNN", "eager": "cuDNN", "tensorrt": ""}
    runs: list[Any] = [
        SimpleNamespace(table=SimpleNamespace(runtime=runtime, library=library))
        for runtime, library in every.items()
        for _ in range(40)
    ]
    scores = np.repeat([0.0, 1.0, 9.0], 40)
    low, wide = (of_runtime(name, runs, scores, np.ones(120)) for name in ("ort", "tensorrt"))
    assert (low.low, low.high) == (0.0, 1.0)
    # those of no library are compared with all
    assert (wide.low, wide.high) == (0.0, 9.0)


def test_a_chip_of_few_runs_is_not_held_out() -> None:
    counts = {"t4": LEAST_LEFT_OUT, "v100-sxm2-16gb": LEAST_LEFT_OUT, "l4": LEAST_LEFT_OUT - 1}
    runs = on(*(name for name, count in counts.items() for _ in range(count)))
    held = {one: (len(train), len(tested)) for one, train, tested in chips_left_out(runs)}
    assert held == {
        "t4": (2 * LEAST_LEFT_OUT - 1, LEAST_LEFT_OUT),
        "v100-sxm2-16gb": (2 * LEAST_LEFT_OUT - 1, LEAST_LEFT_OUT),
    }
