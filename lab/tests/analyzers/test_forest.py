"""Forests in NumPy say what xgboost says, and a file that is none is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.artefacts.forest import LEAF_STEP, Forest
from perfc_lab.training.growing import joined
from perfc_lab.training.xgboost_forest import forest_of, midway

xgboost = pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def grown() -> tuple[Forest, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((2000, 4)).astype(np.float32)
    target = table[:, 0] * table[:, 1] + np.sin(table[:, 2])
    names = ["a", "b", "c", "d"]
    matrix = xgboost.QuantileDMatrix(table, target, feature_names=names)
    booster = xgboost.train({"max_depth": 6, "tree_method": "hist"}, matrix, num_boost_round=30)
    return forest_of(booster), table, booster.inplace_predict(table)


def test_sums_agree(grown: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, table, expected = grown
    assert np.allclose(forest(table), expected, atol=len(forest.roots) * LEAF_STEP / 2)


@pytest.mark.parametrize("rows", [0, 1, 7, 1500])
def test_trees_that_grew_leaf_by_leaf_agree(rows: int) -> None:
    """One feature that grows by powers: each cut parts a few rows from all the others."""
    table = (2.0 ** np.linspace(0, 40, 2000)).astype(np.float32)[:, None]
    matrix = xgboost.QuantileDMatrix(table, table[:, 0] / table.max(), feature_names=["size"])
    settings = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 40, "tree_method": "hist"}
    booster = xgboost.train(settings, matrix, num_boost_round=10)
    forest = forest_of(booster)
    expected = booster.inplace_predict(table)[:rows]
    assert np.allclose(forest(table[:rows]), expected, atol=len(forest.roots) * LEAF_STEP / 2)
    depths = np.zeros(len(forest.feature), int)
    for node in np.flatnonzero(forest.feature >= 0):
        depths[forest.left[node] : forest.left[node] + 2] = depths[node] + 1
    leaves = depths[forest.feature < 0]
    assert leaves.max() > 2 * leaves.min(), "some rows walk on when others have arrived"


def test_arrays_are_the_whole_of_it(grown: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, table, _ = grown
    again = Forest.from_arrays(forest.names, unpacked(packed(forest.arrays())), forest.base)
    assert np.array_equal(again(table), forest(table))


def test_cuts_lie_midway_between_the_values_that_they_part() -> None:
    values = np.repeat(np.array([1.0, 2.0, 8.0], np.float32), 50)[:, None]
    target = np.log(values[:, 0])
    matrix = xgboost.QuantileDMatrix(values, target, feature_names=["bandwidth"])
    forest = forest_of(xgboost.train({"eta": 1.0}, matrix, num_boost_round=1))
    moved = midway(forest, values)
    assert np.array_equal(moved(values), forest(values))
    below, above = np.array([[1.4], [4.9]], np.float32), np.array([[1.6], [5.1]], np.float32)
    assert moved(below) == pytest.approx(forest(np.array([[1.0], [2.0]], np.float32)))
    assert moved(above) == pytest.approx(forest(np.array([[2.0], [8.0]], np.float32)))
    # the trainer's own cut: what is just below a known value stands with the next lower one
    assert forest(np.array([[7.9]], np.float32)) == pytest.approx(forest(values[50:51]))


def test_no_row_of_the_table_falls_elsewhere_where_cuts_are_moved(
    grown: tuple[Forest, np.ndarray, np.ndarray],
) -> None:
    forest, table, _ = grown
    moved = midway(forest, table)
    assert np.array_equal(moved(table), forest(table))
    inner = forest.feature >= 0
    assert (moved.threshold[inner] <= forest.threshold[inner]).all()
    assert (moved.threshold[inner] < forest.threshold[inner]).any()
    assert np.array_equal(moved.threshold[~inner], forest.threshold[~inner])


def test_values_that_nothing_lies_between_keep_their_cut() -> None:
    low = np.float32(1.0)
    values = np.repeat(np.array([low, np.nextafter(low, np.float32(2))]), 50)[:, None]
    target = np.repeat([0.0, 1.0], 50)
    matrix = xgboost.QuantileDMatrix(values, target, feature_names=["a"])
    forest = forest_of(xgboost.train({"eta": 1.0}, matrix, num_boost_round=1))
    moved = midway(forest, values)
    assert np.array_equal(moved(values), forest(values))
    assert len(np.unique(moved(values))) == 2


def test_a_last_tree_across_a_block_is_read_back(
    grown: tuple[Forest, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    forest, table, _ = grown
    for nodes in (len(forest.feature) - 1, int(forest.roots[-1]) + 1, int(forest.roots[-1]), 7):
        monkeypatch.setattr("perfc.analyzers.artefacts.forest.NODES", nodes)
        again = Forest.from_arrays(forest.names, unpacked(packed(forest.arrays())), forest.base)
        assert np.array_equal(again(table), forest(table))


def test_leaves_are_rounded_when_they_are_written(
    grown: tuple[Forest, np.ndarray, np.ndarray],
) -> None:
    forest, _, _ = grown
    third = replace(forest, threshold=forest.threshold / np.float32(3))
    again = Forest.from_arrays(third.names, third.arrays(), third.base)
    leaf = third.feature < 0
    off = np.abs(again.threshold - third.threshold)
    assert 0 < off[leaf].max() <= LEAF_STEP / 2
    assert not off[~leaf].any()


def test_arrays_that_are_no_forest_are_refused(
    grown: tuple[Forest, np.ndarray, np.ndarray],
) -> None:
    forest, _, _ = grown
    good = forest.arrays()
    for name, wrong in (
        ("feature", good["feature"][:-1]),
        ("feature", np.full_like(good["feature"], 4)),
        ("feature", np.zeros_like(good["feature"])),
        ("sizes", good["sizes"][::-1] + 1),
        ("cut", good["cut"] + 60_000),
        ("cut", good["cut"].astype(np.float32)),
        ("cut_counts", good["cut_counts"] - 1),
        ("leaf", good["leaf"][:-1]),
        ("leaf", good["leaf"].astype(np.float32)),
    ):
        with pytest.raises(ValueError, match=r"no forest|cut"):
            Forest.from_arrays(forest.names, {**good, name: wrong}, forest.base)


def test_forests_add_up_and_come_apart(grown: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, table, _ = grown
    other = replace(forest.first(7), base=0.25)
    both = joined(forest, other)
    assert np.allclose(both(table), forest(table) + other(table))
    assert np.array_equal(both.first(len(forest.roots))(table), forest(table))
    again = Forest.from_arrays(both.names, both.arrays(), both.base)
    assert np.abs(again(table) - both(table)).max() <= len(both.roots) * LEAF_STEP / 2
