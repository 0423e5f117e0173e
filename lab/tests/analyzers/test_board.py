"""Scores, and boards as text, Markdown and JSON, on rows that are computed by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from perfc_lab.board import RIGHT, Board, BoardTable, columns, coverage_by_fold, score
from perfc_lab.splitting import fold_of, leave_out

MEASURED, PREDICTED = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])


def test_a_score_has_errors_intervals_bounds_and_order() -> None:
    """Errors 1/2, 0 and -1/4; the interval of the last row is above it, as is its bound."""
    low, high = np.array([0.5, 1.0, 5.0]), np.array([1.0, 3.0, 10.0])
    found = score(
        "left out", "all", MEASURED, PREDICTED, low, high, low, has_order=True, goal=0.2, source="t"
    )
    assert (found.split, found.slice, found.rows, found.source) == ("left out", "all", 3, "t")
    assert (found.mape, found.median, found.bias) == pytest.approx((0.25, 0.25, 0.25 / 3))
    assert found.rmse == pytest.approx(math.sqrt(1.25 / 3))
    assert (found.within_5, found.within_10) == pytest.approx((1 / 3, 1 / 3))
    assert (found.coverage, found.floor_holds) == pytest.approx((2 / 3, 2 / 3))
    assert (found.width, found.tau, found.met) == (2.0, 1.0, False)


def test_what_no_row_defines_is_no_number() -> None:
    empty = score("left out", "none", MEASURED[:0], PREDICTED[:0])
    assert empty.rows == 0
    assert math.isnan(empty.mape)
    plain = score("left out", "all", MEASURED, PREDICTED)
    assert all(math.isnan(n) for n in (plain.coverage, plain.floor_holds, plain.tau))
    assert plain.met


def test_coverage_by_fold_leaves_out_folds_without_an_interval() -> None:
    ends = {"a": (1.0, 2.0), "b": (0.5, 4.0), "c": None}
    assert coverage_by_fold([1.5, 3.0, 3.0, 9.0], "aabc", lambda f: ends[str(f)]) == (2 / 3, 2.0)
    assert all(map(math.isnan, coverage_by_fold([1.0], "c", lambda _: None)))


def test_a_board_is_written_in_every_form() -> None:
    rows = [score("left_out", "a", MEASURED, PREDICTED)]
    cells = columns(
        "split",
        ("n", "rows", "d"),
        ("MAPE", "mape", ".1%"),
        ("tau", "tau", ".2f"),
        ("goal", "goal", ".0%"),
        ("unit", lambda s: f"{s.rows} s", RIGHT),
    )
    board = Board(
        "Errors", (BoardTable("scores", "of rows", cells, rows, after=("*End*",)),), ("Top",)
    )
    marked = board.written("markdown", "By hand.").split("\n\n")
    assert marked[:4] == ["# Errors", "Top", "By hand.", "## of rows"]
    assert marked[4].splitlines() == [
        "| split | n | MAPE | tau | goal | unit |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| left\\_out | 3 | 25.0% | – |  | 3 s |",
    ]
    plain = board.written("text")
    assert plain.startswith("perfc: Errors\n")
    assert plain.endswith("End\n")
    tree = json.loads(board.written("json"))
    assert (tree["schema"], tree["title"]) == ("perfc-eval/1", "Errors")
    assert (tree["scores"][0]["mape"], tree["scores"][0]["tau"]) == (pytest.approx(0.25), None)


def test_each_row_is_tested_once_by_rows_of_other_folds() -> None:
    folds = fold_of("abcdefg", 3, seed=0)
    tested = []
    for fold, train, test in leave_out("abcdefg", [folds[name] for name in "abcdefg"]):
        assert {folds[name] for name in test} == {fold}
        assert fold not in {folds[name] for name in train}
        assert sorted([*train, *test]) == list("abcdefg")
        tested += test
    assert sorted(tested) == list("abcdefg")
