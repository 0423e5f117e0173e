"""Trees of launches that are learned from sums of runs, and files of campaigns."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.steps.launch_stack import SumStack
from perfc.analyzers.whole_runs.kernel_sums import (
    LEAST_SHARE,
    Pruned,
    tabulated_runs,
)
from perfc_lab.datasets import h200
from perfc_lab.training.xgboost_forest import forest_of
from perfc_lab.whole_runs.residual_fit import RECIPE, grown, learned_rates

from .graph_rows import measurements

pytest.importorskip("xgboost")

QUICK = replace(RECIPE, trees=40, learning_rate=0.3, columns=1.0, leaf_penalty=1e-3)


def pruned(factor: float, rest: float = 0.0) -> Pruned:
    """Thirty runs of four launches each of ten microseconds, that take ``factor`` times as long."""
    runs, launches = 30, 4
    row = np.repeat(np.arange(runs), launches)
    values = np.random.default_rng(0).random((len(row), 3)).astype(np.float32)
    nothing = np.zeros(len(row))
    scale_s = np.full(len(row), 1e-5)
    stack = SumStack(
        ("a", "b", "c"),
        values,
        np.zeros(len(row), np.int64),
        scale_s,
        nothing,
        row,
        np.zeros(runs, np.int64),
        (("t4", "f16", "torch"),),
        np.full(runs, launches * 1e-5 * factor + rest),
    )
    return Pruned(stack, np.full((runs, 1), rest))


@pytest.mark.parametrize("factor", [1.3, 0.7])
@pytest.mark.parametrize("rest", [0.0, 5e-5])
def test_trees_find_the_factor_that_runs_take_beside_the_rest(factor: float, rest: float) -> None:
    found = pruned(factor, rest)
    trees = forest_of(grown(found, np.ones(30), QUICK))
    log_factor = trees(found.stack.values)
    assert np.exp(log_factor) == pytest.approx(np.full(120, factor), rel=0.03)
    total = found.rest.sum(axis=1) + found.stack.total(found.stack.scale_s * np.exp(log_factor))
    assert total == pytest.approx(found.stack.time_s, rel=0.02)


def test_runs_that_weigh_nothing_teach_nothing() -> None:
    """Half of the runs take twice their scale, half of them half of it, of which none counts."""
    found = pruned(2.0)
    wrong = np.arange(30) >= 15
    time_s = np.where(wrong, found.stack.time_s / 4, found.stack.time_s)
    mixed = replace(found, stack=replace(found.stack, time_s=time_s))
    trees = forest_of(grown(mixed, np.where(wrong, 1e-6, 1.0), QUICK))
    own = ~wrong[mixed.stack.row]
    assert np.exp(trees(mixed.stack.values[own])) == pytest.approx(np.full(60, 2.0), rel=0.05)


def test_launches_of_a_small_share_are_kept_out_of_the_trees() -> None:
    data = measurements()
    runs = tabulated_runs(data, data.values(Quantity.TIME))
    rates = learned_rates(runs.stack, QUICK)
    found = Pruned.of(runs.stack, rates)
    scale = rates.scaled(runs.stack)
    share = scale / runs.stack.total(scale)[runs.stack.row]
    assert len(found.stack.row) == (share >= LEAST_SHARE).sum()
    assert found.rest.sum() == pytest.approx(scale[share < LEAST_SHARE].sum())


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_of_a_campaign_may_be_so_long_and_not_one_byte_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert h200.MAX_BYTES == 67_108_864
    path = tmp_path / name
    head = b"# gpu: H\n# torch: 2\n"
    content = head.ljust(1000, b"x")
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    monkeypatch.setattr(h200, "MAX_BYTES", 1000)
    assert h200.settings_and_rows(path) == (
        {"gpu": "H", "torch": "2"},
        ["x" * (1000 - len(head))],
    )
    monkeypatch.setattr(h200, "MAX_BYTES", 999)
    with pytest.raises(DataError, match="such files end at 999 bytes"):
        h200.settings_and_rows(path)
    monkeypatch.setattr(h200, "MAX_BYTES", 5000)
    path.write_bytes(gzip.compress(content)[:-4])
    if name.endswith(".gz"):
        with pytest.raises(DataError, match="cannot read"):
            h200.settings_and_rows(path)
    assert h200.number("") != h200.number("")
    assert h200.number("2.5") == 2.5
