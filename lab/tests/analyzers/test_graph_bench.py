"""Protocols, bench and figures of graph predictors, on networks with made-up times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.graph.predictor import (
    LEAST_ROWS,
    GraphPredictor,
    Say,
    TrainingBudget,
)
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.whole_runs.physical import PhysicalLimits
from perfc_lab.board import kendall_tau
from perfc_lab.training.graphs import bench
from perfc_lab.training.graphs.bench import evaluate, figures, rank_agreement
from perfc_lab.training.graphs.protocols import SAMPLES, Fold, GraphProtocol, folds, thinned
from perfc_lab.training.graphs.scoreboard import board, write_plots

from .graph_rows import TARGETS, measurements


class Oracle(GraphPredictor):
    """Knows the rule by which times were made; remembers what it was shown."""

    name: ClassVar[str] = "oracle"
    title: ClassVar[str] = "the rule itself"
    shown: ClassVar[list[Measurements]] = []

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        self.shown.append(train)

    def predict(self, data: Measurements) -> NDArray[np.float64]:
        return np.array([3 * r.floor_s + 5e-6 * len(data.kernels(r)) for r in data.rows])


@pytest.mark.parametrize("protocol", list(GraphProtocol))
def test_what_is_tested_was_not_trained_on(protocol: GraphProtocol) -> None:
    of_architectures = (GraphProtocol.RANDOM, GraphProtocol.WITHIN_FAMILIES)
    found = list(folds(measurements(), protocol, (0,)))
    assert found
    for fold in found:
        assert not set(fold.train.rows) & set(fold.test.rows)
        assert not set(fold.validation.rows) & {*fold.train.rows, *fold.test.rows}
        if protocol in (*of_architectures, GraphProtocol.DEVICE_AND_ARCHITECTURE):
            parts = [{r.architecture for r in p.rows} for p in (fold.train, fold.test)]
            assert not parts[0] & parts[1]
        if protocol not in (*of_architectures, GraphProtocol.FAMILY):
            assert fold.test.targets != fold.train.targets
            assert not set(fold.test.targets) & set(fold.train.targets)


def test_a_transfer_sees_few_rows_of_architectures_that_are_not_tested() -> None:
    for fold in folds(measurements(), GraphProtocol.TRANSFER, (0, 1)):
        shown = [r.architecture for r in fold.few.rows]
        assert 0 < len(shown) <= SAMPLES
        assert len(set(shown)) == len(shown)
        assert not set(shown) & {r.architecture for r in fold.test.rows}


@pytest.mark.parametrize("protocol", list(GraphProtocol))
def test_folds_of_the_same_rows_are_learned_once_and_others_by_themselves(
    protocol: GraphProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learned(name: str, fold: Fold, *_: object) -> GraphPredictor:
        made = Oracle()
        made.train = fold.train  # type: ignore[attr-defined]
        shown.append(fold.train)
        return made

    shown: list[Measurements] = []
    monkeypatch.setattr(bench, "learned", learned)
    monkeypatch.setattr(bench, "adapted", lambda model, _: model)
    monkeypatch.setattr(bench, "mean_error", lambda _: 0.0)
    monkeypatch.setattr(bench, "scored", lambda model, fold, fit_s: (fold, model.train, fit_s))
    found: list[Any] = list(evaluate("oracle", measurements(), protocol, seeds=(0, 1)))
    assert all(set(train.rows) == set(fold.train.rows) for fold, train, _ in found)
    assert len(shown) == len({id(fold.train) for fold, _, _ in found})


def test_splits_are_the_same_every_time() -> None:
    for protocol in GraphProtocol:
        one, two = (list(folds(measurements(), protocol, (3,))) for _ in range(2))
        assert [f.train.rows for f in one] == [f.train.rows for f in two]


def test_smaller_shares_lie_in_larger_ones() -> None:
    fold = next(folds(measurements(), GraphProtocol.RANDOM, (0,)))
    some, more = (set(thinned(fold, s).train.architectures) for s in (0.25, 0.5))
    assert some < more < set(fold.train.architectures)


def test_kendall_s_tau_counts_ties() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 20, (2, 60)).astype(float)
    assert kendall_tau(a, b) == pytest.approx(stats.kendalltau(a, b).statistic)
    assert np.isnan(kendall_tau(np.ones(3), np.ones(3)))


def test_ranks_are_compared_within_one_machine() -> None:
    rows = measurements().rows
    measured = np.array([r.time_s for r in rows])
    assert rank_agreement(rows, measured, measured) == pytest.approx(1.0)
    scaled = measured * np.array([TARGETS.index(r.target) + 1.0 for r in rows])
    assert rank_agreement(rows, measured, scaled) == pytest.approx(1.0)


def test_batches_are_ranked_separately_where_a_graph_has_several() -> None:
    rows = measurements().rows
    batch = np.array([float(r.batch) for r in rows])
    generator = np.random.default_rng(0)
    noise = [batch * generator.uniform(1, 2, len(rows)) ** -1 * 1e-3 for _ in range(2)]
    assert abs(rank_agreement(rows, noise[0], noise[1])) < 0.3


def test_a_predictor_that_knows_the_rule_makes_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "predictor", lambda name, quantity: Oracle("", quantity))
    done = evaluate("oracle", measurements(), GraphProtocol.RANDOM, seeds=(0, 1))
    every = next(iter(figures("oracle", done)))
    assert every.mape < 1e-9
    assert every.tau == pytest.approx(1.0)
    assert every.within_5 == 1.0
    assert every.coverage == 1.0
    assert every.folds == 2


def test_an_estimate_is_never_below_its_floor() -> None:
    data = measurements(3)
    for row in data.rows:
        limits = PhysicalLimits.of(data.graph(row), row)
        time, notes = limits.time(Interval.exactly(1e-12), is_device_alone=False)
        assert time.low >= row.floor_s
        assert time.mid >= max(row.floor_s, limits.host.mid)
        assert notes


def test_a_few_rows_of_a_machine_correct_its_scale() -> None:
    slow = Oracle()
    rows = measurements().rows[:8]
    twice = [
        GraphRow(
            r.graph, r.architecture, r.setting, r.target, r.batch, 2 * r.time_s, floor_s=r.floor_s
        )
        for r in rows
    ]
    slow.adapt(measurements().of(twice))
    assert slow.factor[0] == pytest.approx(2.0)


def test_a_machine_with_enough_rows_has_a_separate_interval() -> None:
    made, data = Oracle(), measurements()
    names = {name: i for i, name in enumerate(data.targets)}
    assert len(names) > 1
    rows = [replace(r, time_s=(1 + names[r.target]) * r.time_s) for r in data.rows]
    made.calibrate(data.of(rows))
    for name, i in names.items():
        assert made.factors[name] == pytest.approx((1 + i, 1 + i))
    assert made.factor[2] == pytest.approx(len(names))
    estimates = made.estimates(data.of([data.rows[0]]))
    assert estimates.high / estimates.value == pytest.approx(1 + names[data.rows[0].target])
    made.calibrate(data.of(rows[: LEAST_ROWS - 1]))
    assert not made.factors


def test_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    done = bench.evaluated(
        ["boosted-totals"], measurements(), [GraphProtocol.RANDOM], seeds=(0,), shares=(0.5, 1.0)
    )
    paths = write_plots(done, tmp_path)
    assert [p.name for p in paths] == ["nb201-random.svg", "nb201-random-curve.svg"]
    assert all(p.read_text().startswith("<svg") for p in paths)
    assert "boosted-totals @ 50%" in board(done).written("markdown")
    parts = [replace(f, share=f.share / 2) for f in done]
    assert [p.name for p in write_plots(parts, tmp_path)] == ["nb201-random-curve.svg"]


def test_families_have_a_chart_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    done = bench.evaluated(
        ["roofline"], measurements(), [GraphProtocol.RANDOM], seeds=(0,), families=True
    )
    assert (families := [f for f in done if f.is_family])
    assert not any(f.is_family for f in done if f.slice in ("all rows", "inference"))
    paths = write_plots(done, tmp_path)
    assert [p.name for p in paths] == ["nb201-random.svg", "nb201-random-families.svg"]
    assert all(f">{f.slice}<" not in paths[0].read_text() for f in families)
    assert all(f">{f.slice}<" in paths[1].read_text() for f in families)
