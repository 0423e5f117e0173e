"""Costs of launches: columns, machines as a population, a few rows of a new one."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.whole_runs.kernel_sums import KINDS, tabulated_runs
from perfc.errors import PerfcError
from perfc_lab.training.graphs.bench import rank_agreement
from perfc_lab.training.graphs.protocols import Fold, GraphProtocol, folds
from perfc_lab.whole_runs.launch_columns import DOUBLINGS, RUNS, hats, linear_runs
from perfc_lab.whole_runs.launch_costs import LaunchCosts
from perfc_lab.whole_runs.population import Few, KnownCondition, Prior, learned

from .graph_rows import TARGETS, measurements

COUNT = 60
RATES = np.linspace(1.0, 6.0, KINDS)


def silent(line: str) -> None:
    del line


@cache
def rows() -> Measurements:
    """A kind of launch is faster or slower than its roofline, by other factors on each machine."""
    data = measurements(COUNT)
    stack = tabulated_runs(data, np.ones(len(data))).stack
    turned = {t: np.roll(RATES, 5 * i) for i, t in enumerate(TARGETS)}
    factor = np.array([turned[r.target] for r in data.rows])[stack.row, stack.kind]
    times = stack.total(stack.scale_s * factor)
    return data.of([replace(r, time_s=t) for r, t in zip(data.rows, times.tolist(), strict=True)])


@cache
def fold() -> Fold:
    return next(folds(rows(), GraphProtocol.TRANSFER_AT_BATCH, (0,), 10))


@pytest.fixture(scope="module")
def trained() -> LaunchCosts:
    made = LaunchCosts()
    made.fit(fold().train, fold().validation, TrainingBudget(), silent)
    made.calibrate(fold().validation)
    return made


def again(trained: LaunchCosts) -> LaunchCosts:
    made = LaunchCosts()
    made.restore(trained.arrays(), json.loads(json.dumps(trained.meta())))
    return made


def errors(made: LaunchCosts, data: Measurements) -> np.ndarray:
    return np.abs(made.estimates(data).value / data.values(Quantity.TIME) - 1)


def test_hats_add_up_to_one() -> None:
    values = np.random.default_rng(0).uniform(-30, 5, 100)
    assert hats(values, DOUBLINGS).sum(axis=1) == pytest.approx(1.0)


def test_a_run_s_share_in_all_kinds_is_one() -> None:
    data = measurements(4)
    found = linear_runs(data)
    ones = [i for i, name in enumerate(RUNS.columns) if name.endswith("_one")]
    assert found.table[:, ones].sum(axis=1) == pytest.approx(1.0)
    assert (found.table[:, 0] == 1).all()
    doublings = [i for i, name in enumerate(RUNS.columns) if "_doubling_" in name]
    assert found.table[:, doublings].sum(axis=1) == pytest.approx(1.0)


def test_ten_rows_rank_the_networks_of_a_machine_nobody_measured(trained: LaunchCosts) -> None:
    test, measured = fold().test, fold().test.values(Quantity.TIME)
    before = trained.estimates(test)
    moved = again(trained)
    moved.adapt(fold().few)
    after = moved.estimates(test)
    assert len(fold().few) == 10
    assert rank_agreement(test.rows, measured, after.value) > 0.97
    assert np.abs(after.value / measured - 1).mean() < 0.02
    assert np.abs(before.value / measured - 1).mean() > 0.1
    assert before.extrapolating.all()
    assert not after.extrapolating.any()


def test_a_batch_without_rows_takes_the_machine_s_factor(trained: LaunchCosts) -> None:
    slow = fold().few.of([replace(r, time_s=7 * r.time_s) for r in fold().few.rows])
    others = [r for r in rows().rows if r.target == fold().few.targets[0]]
    other = rows().of([r for r in others if r.batch != fold().few.rows[0].batch])
    plain, moved = again(trained), again(trained)
    plain.adapt(fold().few)
    moved.adapt(slow)
    ratio = moved.estimates(other).value / plain.estimates(other).value
    assert ratio == pytest.approx(7.0, rel=0.05)


def test_machines_that_were_trained_on_are_known(trained: LaunchCosts) -> None:
    assert errors(trained, fold().validation).mean() < 0.02
    assert not trained.estimates(fold().validation).extrapolating.any()


def test_estimates_are_never_below_the_floor(trained: LaunchCosts) -> None:
    raised = fold().test.of([replace(r, floor_s=10 * r.time_s) for r in fold().test.rows])
    found = trained.estimates(raised)
    floors = np.array([r.floor_s for r in raised.rows])
    assert (found.value >= floors).all()
    assert (found.low >= floors).all()
    assert (found.high >= found.value).all()


def test_weights_come_back(trained: LaunchCosts) -> None:
    for few in (fold().few.of(()), fold().few):
        one, two = again(trained), again(again(trained))
        one.adapt(few)
        two.adapt(few)
        first, second = one.estimates(fold().test), two.estimates(fold().test)
        assert (first.value == second.value).all()
        assert (first.high == second.high).all()
    assert trained.predict(fold().validation) == pytest.approx(
        again(trained).predict(fold().validation)
    )


def test_what_a_few_rows_taught_is_kept(trained: LaunchCosts) -> None:
    moved = again(trained)
    moved.adapt(fold().few)
    one, two = (made.estimates(fold().test) for made in (moved, again(moved)))
    assert (one.value == two.value).all()
    assert (one.high == two.high).all()
    assert (trained.predict(fold().test) != one.value).any()


def test_weights_of_other_columns_are_refused(trained: LaunchCosts) -> None:
    meta = dict(trained.meta())
    with pytest.raises(PerfcError, match="other columns"):
        LaunchCosts().restore(trained.arrays(), {**meta, "schema": "another"})
    cut = {**trained.arrays(), "weights": trained.arrays()["weights"][:, 1:]}
    with pytest.raises(PerfcError, match="another shape"):
        LaunchCosts().restore(cut, meta)


def test_nothing_is_said_before_training() -> None:
    with pytest.raises(PerfcError, match="not trained"):
        LaunchCosts().predict(fold().test)
    with pytest.raises(PerfcError, match="no machine"):
        LaunchCosts().fit(fold().few, fold().few, TrainingBudget(), silent)


def test_each_batch_of_a_machine_is_a_transfer_of_its_own() -> None:
    found = list(folds(rows(), GraphProtocol.TRANSFER_AT_BATCH, (0,), 10))
    assert len(found) == len(TARGETS) * 2
    for one in found:
        assert len({r.batch for r in (*one.few.rows, *one.test.rows)}) == 1
        assert not {r.architecture for r in one.few.rows} & set(one.test.architectures)
        assert not set(one.few.targets) & set(one.train.targets)
    assert found[0].train is found[1].train


def test_a_condition_is_learned_from_its_rows() -> None:
    generator = np.random.default_rng(0)
    table, weights = generator.uniform(0, 1, (200, 6)), np.array([1.0, 0.5, -0.2, 0.3, 0.0, 0.7])
    ratio = 40 * (table @ weights) * np.exp(generator.normal(0, 0.01, 200))
    found = learned(table, ratio)
    assert found.factor * found.weights == pytest.approx(40 * weights, abs=0.7)
    assert found.noise == pytest.approx(0.01, rel=0.3)


def test_estimates_of_few_rows_are_as_wrong_as_they_say() -> None:
    generator = np.random.default_rng(0)
    scores = []
    for _ in range(30):
        draws = [1 + generator.normal(0, 0.2, 5) for _ in range(4)]
        table = generator.uniform(0.1, 1, (120, 5))
        prior = Prior.of([KnownCondition(w, 1.0, 0.01) for w in draws[1:]])
        ratio = table @ draws[0] * np.exp(generator.normal(0, 0.01, 120))
        few = Few.of(table[:12], ratio[:12], np.zeros(12, np.int64), [prior])
        value, deviation = few(table[12:], np.zeros(108, np.int64), [])
        scores.append(np.log(ratio[12:] / value) / deviation)
    inside = (np.abs(np.concatenate(scores)) < 1.645).mean()
    assert 0.8 < inside < 0.97
