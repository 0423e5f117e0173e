"""Figures of whole runs, by folds, grades, families and ranks."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc_lab.board import kendall_tau
from perfc_lab.training.graphs import bench
from perfc_lab.training.graphs import scoreboard as graph_scoreboard
from perfc_lab.training.graphs.bench import Scored, by_family, figures, rank_agreement
from perfc_lab.training.graphs.protocols import GraphProtocol as GraphProtocol

# Whole runs

SETTING = Setting(Precision.F16, version=(2, 4))


TRAINING = Setting(Precision.F16, version=(2, 4), training=True)


def run_row(
    name: str, batch: int = 1, target: str = "rtx3090", setting: Setting = SETTING
) -> GraphRow:
    return GraphRow(name, name, setting, target, batch, 1.0)


def scored(
    rows: list[GraphRow],
    measured: list[float],
    value: list[float],
    *,
    low: float = 0.5,
    high: float = 1.5,
    fit_s: float = 2.0,
    dataset: str = "timm",
) -> Scored:
    fold = SimpleNamespace(protocol=GraphProtocol.RANDOM, test=SimpleNamespace(dataset=dataset))
    values = np.array(value)
    return Scored(
        cast("Any", fold),
        tuple(rows),
        np.array(measured),
        values,
        values * low,
        values * high,
        fit_s,
        0.5,
    )


def test_figures_of_runs_are_means_over_folds() -> None:
    """Errors 0, 5 % and 10 % in the first fold, 100 % in the second."""
    first = scored([run_row(n) for n in "abc"], [1.0, 2.0, 10.0], [1.0, 2.1, 9.0])
    second = scored([run_row("d")], [1.0], [2.0], high=0.9, fit_s=4.0)
    every = {f.slice: f for f in figures("mine", [first, second])}
    assert set(every) == {
        "all rows",
        "inference",
        "eager, rtx3090",
        "graded medium",
        "graded low",
    }
    found = every["inference"]
    assert (found.source, found.predictor, found.split) == ("timm", "mine", "random")
    assert (found.rows, found.folds, found.goal) == (4, 2, 0.06)
    assert every["all rows"].goal is None
    assert found.mape == pytest.approx((0.05 + 1) / 2)
    assert found.spread == pytest.approx((1 - 0.05) / 2)
    assert found.median == pytest.approx((0.05 + 0.1) / 2)
    assert found.rmse == pytest.approx(math.sqrt((0 + 0.01 + 1 + 1) / 4))
    # intervals 0.5 to 1.5 of the first three, which hold all; 1 to 1.8 of the last, which does
    assert found.coverage == 1.0
    assert found.tau == 1.0
    assert (found.fit_s, found.row_s) == (3.0, 0.5)
    elsewhere = scored([run_row("d")], [1.0], [2.0], dataset="other")
    assert next(iter(figures("mine", [elsewhere]))).goal is None


def test_shares_of_errors_at_five_and_ten_percent() -> None:
    rows = [run_row(str(i)) for i in range(4)]
    (found, *_) = figures("mine", [scored(rows, [1.0] * 4, [1.04, 0.92, 1.2, 0.97], low=0.999)])
    assert (found.within_5, found.within_10, found.coverage) == (0.5, 0.75, 0.5)


def test_runs_are_counted_apart_by_the_grade_that_their_range_gives() -> None:
    """Half of such runs are expected within 0.41 / 2 of the logarithm of high over low."""
    ends = {"graded high": 1.3, "graded medium": 2.5, "graded low": 3.5}
    rows = [run_row(str(i)) for i in range(2)]
    parts = [scored(rows, [1.0] * 2, [1.0 + e / 100] * 2, low=1.0, high=e) for e in ends.values()]
    every = {f.slice: f for f in figures("mine", parts)}
    for grade, end in ends.items():
        assert (every[grade].rows, every[grade].folds) == (2, 1)
        assert every[grade].median == pytest.approx(end / 100)


def test_runs_are_counted_apart_by_batch_and_way_of_running_and_without_intervals() -> None:
    rows = [
        run_row("a"),
        run_row("a", batch=8),
        run_row("b", target="rtx4090"),
        run_row("a", setting=TRAINING),
    ]
    one = scored(rows, [1.0] * 4, [1.0, 1.1, 1.2, 1.3], low=math.nan, high=math.nan)
    found = {f.slice: f.mape for f in figures("mine", [one])}
    assert found == pytest.approx(
        {
            "all rows": 0.15,
            "inference": 0.1,
            "batch 1": 0.5 / 3,
            "batch 8": 0.1,
            "eager, rtx3090": 0.05,
            "eager, rtx4090": 0.2,
            "training, rtx3090": 0.3,
        }
    )
    assert all(math.isnan(f.coverage) for f in figures("mine", [one]))
    with_one = [one, scored(rows[:1], [1.0], [1.0])]
    assert next(iter(figures("mine", with_one))).coverage == pytest.approx(1 / 5)
    assert bench.mean_error(one) == pytest.approx(0.15)


def test_families_of_enough_rows_come_worst_first() -> None:
    rows = [run_row("resnet18")] * 3 + [run_row("vit_tiny")] * 2 + [run_row("vgg11")]
    one = scored(rows, [1.0] * 6, [1.1] * 3 + [1.3] * 2 + [9.0])
    found = by_family("mine", [one], least=2)
    assert [(round(f.mape, 6), f.rows, f.is_family) for f in found] == [
        (0.3, 2, True),
        (0.1, 3, True),
    ]


def test_a_table_of_figures_is_as_wide_as_its_longest_cells() -> None:
    one = scored([run_row(n) for n in "abc"], [1.0, 2.0, 4.0], [1.1, 2.2, 4.4])
    page = graph_scoreboard.board(list(figures("mine", [one])))
    lines = [line.strip() for line in page.written("text").splitlines()[3:8]]
    assert len(lines) == 5
    head = lines[0]
    column = head.index("protocol") if "protocol" in head else lines[1].index("random")
    assert [line[column:].startswith("random") for line in lines[1:]] == [True] * 4
    assert all(line.startswith("mine") and "10.0%" in line for line in lines[1:])
    assert len({line.index("10.0%") for line in lines[1:]}) == 1


def test_agreement_of_ranks_counts_ties_on_either_side() -> None:
    """Six pairs: five agree, one of the second tied: 5 / √(6 · 5)."""
    a, b = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 2, 4])
    assert kendall_tau(a, b) == pytest.approx(5 / math.sqrt(30))
    assert kendall_tau(b, a) == pytest.approx(5 / math.sqrt(30))
    assert kendall_tau(a, -a) == -1
    assert math.isnan(kendall_tau(a, np.ones(4)))
    assert math.isnan(kendall_tau(a[:1], b[:1]))


def test_ranks_are_of_times_per_image_within_a_machine_and_weighted_by_rows() -> None:
    """Three rows of one machine agree, four of another disagree; two of a third do not count."""
    rows = [run_row(str(i)) for i in range(3)]
    rows += [run_row(str(i), target="rtx4090") for i in range(4)]
    rows += [run_row(str(i), target="t4") for i in range(2)]
    measured = np.array([1.0, 2, 3, 1, 2, 3, 4, 1, 2])
    value = np.array([1.0, 2, 3, 4, 3, 2, 1, 2, 1])
    assert rank_agreement(rows, measured, value) == pytest.approx((3 * 1 + 4 * -1) / 7)
    assert math.isnan(rank_agreement(rows[7:], measured[7:], value[7:]))
    # each its own batch: 4 ms for 4 images are less than 2 ms for one
    others = [run_row("a", 4), run_row("b", 1), run_row("c", 1)]
    assert rank_agreement(others, np.array([4.0, 2, 3]), np.array([1.0, 2, 3])) == pytest.approx(1)
