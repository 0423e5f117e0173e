"""Kernels' sums with a residual of graphs: floors, machines nobody measured, weights."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.graph.branches import foldable_share
from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.model_graph import OpGraph
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity, drawn
from perfc.analyzers.graph.weights import load, save
from perfc.analyzers.steps.features import tabulate
from perfc.analyzers.whole_runs.adapted import adapted
from perfc.analyzers.whole_runs.kernel_sums import (
    KindRates,
    Pruned,
    RunConfiguration,
    by_kind,
    tabulated_runs,
)
from perfc.errors import PerfcError
from perfc_lab.training.graphs.cards import card_of
from perfc_lab.training.graphs.protocols import Fold, GraphProtocol, folds
from perfc_lab.whole_runs import physics_residual, residual_fit
from perfc_lab.whole_runs.physics_residual import PhysicsResidual
from perfc_lab.whole_runs.residual_fit import learned_rates

from .graph_rows import measurements

SMALL = replace(residual_fit.RECIPE, trees=15)


def silent(line: str) -> None:
    del line


@cache
def fold() -> Fold:
    """A machine left out, but for one row each of ten architectures that are not tested."""
    found = next(folds(measurements(), GraphProtocol.DEVICE, (0,)))
    few = found.test.of(drawn(found.test.rows, 0, 10))
    shown = {r.architecture for r in few.rows}
    return replace(found, few=few, test=found.test.where(lambda r: r.architecture not in shown))


@pytest.fixture(scope="module")
def trained() -> PhysicsResidual:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(physics_residual, "RECIPE", SMALL)
        patch.setattr(physics_residual, "LEFT_OUT", SMALL)
        patch.setattr(residual_fit, "ROUNDS", 20)
        made = PhysicsResidual()
        made.fit(fold().train, fold().validation, TrainingBudget(), silent)
        made.calibrate(fold().validation)
    return made


def again(trained: PhysicsResidual) -> PhysicsResidual:
    made = PhysicsResidual()
    made.restore(trained.arrays(), json.loads(json.dumps(trained.meta())))
    return made


def operators(names: list[str], edges: list[tuple[int, int]]) -> OpGraph:
    blank = np.zeros((len(names), 1))
    return OpGraph(
        tuple(names),
        blank,
        blank[None],
        np.array(edges, np.int64).reshape(-1, 2).T,
        blank[None],
        blank,
    )


def test_estimates_are_never_below_the_floor(trained: PhysicsResidual) -> None:
    floors = [r.time_s * 10 for r in fold().test.rows]
    raised = fold().test.of(
        [replace(r, floor_s=f) for r, f in zip(fold().test.rows, floors, strict=True)]
    )
    found = trained.estimates(raised)
    assert (found.value >= floors).all()
    assert (found.low >= floors).all()
    assert (found.high >= found.value).all()


def test_kernels_known_on_other_machines_carry_to_an_unseen_one(trained: PhysicsResidual) -> None:
    found = trained.estimates(fold().test)
    error = np.abs(found.value / fold().test.values(Quantity.TIME) - 1)
    assert error.mean() < 0.4
    assert found.extrapolating.all()


def test_a_few_rows_bring_an_unseen_machine_nearer(trained: PhysicsResidual) -> None:
    few = again(trained)
    measured = fold().test.values(Quantity.TIME) * 1.7
    slower = fold().few.of([replace(r, time_s=r.time_s * 1.7) for r in fold().few.rows])
    before = np.abs(few.estimates(fold().test).value / measured - 1).mean()
    few.adapt(slower)
    after = np.abs(few.estimates(fold().test).value / measured - 1).mean()
    assert after < before / 2
    other = fold().train
    np.testing.assert_array_equal(few.predict(other), trained.predict(other))


def test_a_few_rows_say_which_machine_a_new_one_is_like(trained: PhysicsResidual) -> None:
    """A machine that takes what one trained on does, where its data sheet says otherwise."""
    assert trained.learned is not None
    twin = sorted(trained.learned.targets)[0]
    run = fold().test

    def as_twin(data: Measurements) -> Measurements:
        there = trained.detail(data.of([replace(r, target=twin) for r in data.rows])).value
        return data.of(
            [replace(r, time_s=t) for r, t in zip(data.rows, there.tolist(), strict=True)]
        )

    few = again(trained)
    few.adapt(as_twin(fold().few))
    measured = as_twin(run).values(Quantity.TIME)
    before = np.abs(np.log(trained.estimates(run).value / measured)).mean()
    after = np.abs(np.log(few.estimates(run).value / measured)).mean()
    assert after < before / 4
    kept = again(few)
    np.testing.assert_allclose(kept.estimates(run).value, few.estimates(run).value, rtol=1e-5)
    assert few.shift is not None
    shorter = {**few.arrays(), "shift": few.shift[:-1]}
    with pytest.raises(PerfcError, match="another shape"):
        PhysicsResidual().restore(shorter, few.meta())


def test_weights_read_are_those_written(trained: PhysicsResidual) -> None:
    read, written = again(trained).estimates(fold().test), trained.estimates(fold().test)
    np.testing.assert_allclose(read.value, written.value, rtol=1e-5)
    np.testing.assert_allclose(read.high, written.high, rtol=1e-5)


def test_weights_of_another_schema_are_refused(trained: PhysicsResidual) -> None:
    meta = {**trained.meta(), "schema": "another"}
    with pytest.raises(PerfcError, match="other features"):
        PhysicsResidual().restore(trained.arrays(), meta)


def test_untrained_it_says_so() -> None:
    with pytest.raises(PerfcError, match="not trained"):
        PhysicsResidual().estimates(measurements())


def test_short_launches_stay_in_the_sum() -> None:
    data = measurements()
    runs = tabulated_runs(data, data.values(Quantity.TIME))
    rates = learned_rates(runs.stack, SMALL)
    pruned = Pruned.of(runs.stack, rates)
    whole = by_kind(runs.stack, rates.scaled(runs.stack))
    np.testing.assert_allclose(pruned.seconds(np.zeros(len(pruned.stack.row))), whole)


def test_rates_of_what_was_not_measured_are_those_of_the_most_alike() -> None:
    eager, compiled = (("torch 2.4", mode, "channels first") for mode in ("eager", "compiled"))
    table = np.array([np.full(21, 1.0), np.full(21, 4.0), np.full(21, 9.0)])
    known = tuple(
        RunConfiguration(*configuration)
        for configuration in (("a", "f16", *eager), ("b", "f16", *eager), ("a", "f16", *compiled))
    )
    rates = KindRates(known, table)
    np.testing.assert_allclose(rates.of(RunConfiguration("c", "f16", *eager)), 2.0)
    np.testing.assert_allclose(rates.of(RunConfiguration("b", "f16", *compiled)), 9.0)


def test_branches_between_one_tensor_and_one_sum_fold() -> None:
    names = ["relu", "conv", "batch_norm", "conv", "batch_norm", "add"]
    edges = [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (4, 5)]
    assert foldable_share(operators(names, edges)) == pytest.approx(5 / 6)


def test_a_residual_block_does_not_fold() -> None:
    names = ["relu", "conv", "relu", "conv", "add"]
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    assert foldable_share(operators(names, edges)) == 0.0


def test_weights_adapt_to_a_machine_by_its_runs(trained: PhysicsResidual, tmp_path: Path) -> None:
    card = save(again(trained), card_of(trained, fold().train, "device", {}), tmp_path)
    (target,) = {r.target for r in fold().few.rows}
    slower = [
        replace(r, time_s=r.time_s * 1.7) if r.target == target else r for r in measurements().rows
    ]
    data = measurements().of(slower)
    done = adapted(card, data, target)
    errors = dict(done.curve)
    assert errors[32] < errors[0] / 2
    assert target in done.card.targets
    assert done.card.covers(target, data.rows[0].setting)
    read = load(save(done.predictor, done.card, tmp_path / "new"))[0]
    mine = data.where(lambda r: r.target == target)
    found = read.estimates(mine)
    np.testing.assert_allclose(found.value, done.predictor.estimates(mine).value, rtol=1e-5)
    assert not found.extrapolating.all()
    with pytest.raises(PerfcError, match="was trained on"):
        adapted(card, data, fold().train.targets[0])
    with pytest.raises(PerfcError, match="no rows of a100"):
        adapted(card, data, "a100")


def test_learning_from_every_row_keeps_the_bands(trained: PhysicsResidual) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(physics_residual, "RECIPE", SMALL)
        whole = again(trained)
        whole.finish(measurements(), TrainingBudget(), silent)
    assert whole.bands.seen == trained.bands.seen
    assert whole.learned is not None
    assert trained.learned is not None
    assert len(whole.learned.residual.forest.roots) == len(trained.learned.residual.forest.roots)
    assert whole.learned.targets > trained.learned.targets


def test_graphs_that_were_measured_are_known_again(trained: PhysicsResidual) -> None:
    forgetful = again(trained)
    forgetful.variant = "without-memory"
    data = fold().train
    measured = data.values(Quantity.TIME)
    known, fresh = (np.abs(np.log(p.predict(data) / measured)).mean() for p in (trained, forgetful))
    assert known < fresh


def test_floors_of_a_run_are_those_of_all_its_repetitions() -> None:
    data = measurements()
    stack = tabulated_runs(data, data.values(Quantity.TIME)).stack
    for i, row in enumerate(data.rows[:6]):
        every = tabulate(data.kernels(row).columns.at(row.batch), row.setting, sheet(row.target))
        assert stack.floor_s[stack.row == i].sum() == pytest.approx(every.floor_s.sum())
