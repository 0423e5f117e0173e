"""Factors learned through sums: known ones are found again, and what is saved predicts the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.steps.columns import LinearColumns
from perfc.analyzers.steps.launches import AMOUNTS, TRAITS
from perfc.analyzers.steps.predict import ends, estimate
from perfc.analyzers.steps.setting import Setting
from perfc.machine import load_machine
from perfc_lab.tables.architectures import family
from perfc_lab.tables.timm import StepRow
from perfc_lab.training.runs.step_fit import dealt_groups, train_steps
from perfc_lab.training.runs.sums import SumRecipe, learn, multipliers, non_negative, stacked

xgboost = pytest.importorskip("xgboost")

RECIPE = SumRecipe(trees=60, spread_trees=10)
KINDS = (4, 5, 12, 14)
TRUE = {4: 2.0, 5: 3.0, 12: 1.2, 14: 1.5}


def drawn(count: int, seed: int = 0, noise: float = 0.02) -> list[StepRow]:
    """Steps of a few launches each, whose kinds take fixed multiples of their scale."""
    rng = np.random.default_rng(seed)
    rows: list[StepRow] = []
    for i in range(count):
        launches = rng.integers(3, 9)
        table = np.zeros((launches, 2 + 2 * len(AMOUNTS) + len(TRAITS)))
        table[:, 0] = rng.choice(KINDS, launches)
        table[:, 1] = rng.integers(1, 5, launches)
        size = 10 ** rng.uniform(5, 7, launches)
        for j, batch in enumerate((32, 64)):
            at = 2 + j * len(AMOUNTS)
            table[:, at + AMOUNTS.index("read_bytes")] = size * batch
            table[:, at + AMOUNTS.index("write_bytes")] = size * batch
            table[:, at + AMOUNTS.index("mac")] = np.where(table[:, 0] < 6, size * batch * 100, 0)
        target = ("rtx3090", "rtx4090")[i % 2]
        rows.append(
            StepRow(
                f"{chr(97 + i % 26)}{chr(97 + i % 7)}net",
                LinearColumns((32, 64), table),
                Setting(),
                target,
                128,
                1.0,
            )
        )
    stack = stacked(rows)
    factor = np.array([TRUE.get(int(k), 1.0) for k in stack.kind])
    time_s = stack.total(stack.scale_s * factor) * np.exp(rng.normal(0, noise, count))
    return [replace(r, time_s=float(t)) for r, t in zip(rows, time_s, strict=True)]


def test_coordinate_descent_finds_the_optimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        left, right = rng.random((30, 6)), rng.normal(size=30)
        matrix, vector = left.T @ left, left.T @ right
        x = non_negative(matrix, vector)
        gradient = matrix @ x - vector
        assert (x >= 0).all()
        assert (gradient > -1e-4).all()
        assert np.abs(gradient * x).max() < 1e-4


def test_known_multipliers_are_found_again() -> None:
    stack = stacked(drawn(200))
    found = multipliers(stack, replace(RECIPE, ridge=0.05))
    for kind, value in TRUE.items():
        assert found[:, kind] == pytest.approx(value, rel=0.1)


def test_trees_learn_what_multipliers_cannot() -> None:
    rows = drawn(300)
    stack = stacked(rows)
    bent = stack.scale_s * np.where(stack.values[:, stack.names.index("log2_bytes")] > 27, 2.0, 1.0)
    bent_stack = replace(stack, time_s=stack.total(bent))
    train = np.arange(len(rows)) % 5 != 0
    model = learn(bent_stack.take(train), RECIPE)
    test = bent_stack.take(~train)
    error = np.abs(test.total(model.launch_s(test)) / test.time_s - 1).mean()
    table = multipliers(bent_stack.take(train), RECIPE)
    plain = test.total(test.scale_s * table[test.configuration[test.row], test.kind])
    assert error < 0.06
    assert error < 0.5 * np.abs(plain / test.time_s - 1).mean()


def test_launches_that_hardly_count_are_one_of_each_kind() -> None:
    stack = stacked(drawn(40))
    thin = stack.thinned(0.1)
    assert len(thin.row) < len(stack.row)
    assert len(thin) == len(stack)
    assert thin.total(thin.scale_s) == pytest.approx(stack.total(stack.scale_s))
    assert thin.total(thin.floor_s) == pytest.approx(stack.total(stack.floor_s))
    assert stack.thinned(0.0) is stack
    whole = stack.thinned(2.0)
    pairs = np.stack([whole.row, whole.kind], axis=1)
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_what_is_saved_predicts_the_same_and_nothing_beats_its_floor(tmp_path: Path) -> None:
    rows = drawn(150)
    found = train_steps("step-eager", rows, RECIPE)
    loaded = artefact.load(artefact.save(found, tmp_path))
    for row in rows[:20]:
        machine = load_machine(row.target)
        columns = row.columns.at(row.batch)
        ours = estimate(loaded, columns, row.setting, machine)
        assert ours.time_s == pytest.approx(estimate(found, columns, row.setting, machine).time_s)
        assert ours.floor_s <= ours.low_s <= ours.time_s <= ours.high_s
        assert (ours.launch_s > 0).all()
        assert ours.time_s == pytest.approx(row.time_s, rel=0.25)


def test_what_like_steps_were_off_corrects_a_step(tmp_path: Path) -> None:
    """Steps whose memory is nearly full take longer, which no launch alone tells."""
    rows = drawn(300)
    stack = stacked(rows)
    heavy = stack.total(stack.scale_s) > np.median(stack.total(stack.scale_s))
    rows = [
        replace(r, time_s=r.time_s * (1.25 if h else 1.0)) for r, h in zip(rows, heavy, strict=True)
    ]
    off: dict[bool, float] = {}
    for likens in (False, True):
        recipe = replace(RECIPE, trees=10, likens=likens)
        made = train_steps("x", rows[:200], recipe, group=str, leave_machines_out=False)
        found = artefact.load(artefact.save(made, tmp_path, overwrite=True))
        errors = [
            estimate(found, r.columns.at(r.batch), r.setting, load_machine(r.target)).time_s
            / r.time_s
            - 1
            for r in rows[200:]
        ]
        off[likens] = float(np.abs(errors).mean())
    assert off[True] < 0.9 * off[False]


def test_intervals_hold_on_steps_not_seen() -> None:
    rows = drawn(600, noise=0.1)
    found = train_steps("step-eager", rows[:400], RECIPE, group=str, leave_machines_out=False)
    inside = [
        e.low_s <= r.time_s <= e.high_s
        for r in rows[400:]
        for e in [estimate(found, r.columns.at(r.batch), r.setting, load_machine(r.target))]
    ]
    assert 0.8 < np.mean(inside) < 0.98


def test_a_machine_nobody_measured_widens_and_says_so() -> None:
    rows = drawn(150)
    found = train_steps("step-eager", rows, RECIPE)
    columns = rows[0].columns.at(128)
    near = estimate(found, columns, Setting(), load_machine("rtx3090"))
    far = estimate(found, columns, Setting(), load_machine("h200"))
    assert not near.is_extrapolating
    assert far.is_extrapolating
    assert far.high_s / far.low_s > near.high_s / near.low_s


def test_what_a_machines_steps_have_in_common_is_in_the_interval_of_others() -> None:
    rows = [
        replace(r, time_s=r.time_s * (1.3 if r.target == "rtx3090" else 1.0)) for r in drawn(300)
    ]
    found = train_steps("step-eager", rows, RECIPE)
    unseen = found.card.calibration.bands.unseen
    assert unseen is not None
    assert unseen.error > 0.1
    spread = np.log(np.array([0.01, 0.5]))
    known = ends(found.card, spread, 0.0, known=True)[1]
    other = ends(found.card, spread, 1.0, known=False)[1]
    assert other[0] > 10 * known[0]
    assert other[1] >= known[1]


def test_too_few_architectures_are_one_clear_line() -> None:
    few = [replace(r, architecture="one") for r in drawn(5)]
    with pytest.raises(DataError, match="1 architectures"):
        train_steps("step-eager", few, RECIPE)


def test_no_steps_are_one_clear_line() -> None:
    with pytest.raises(DataError, match="no steps"):
        stacked([])


def test_groups_are_families_unless_they_are_fewer_than_folds() -> None:
    names = ["vit_a", "vit_b", "resnet_a", "swin_a"]
    assert dealt_groups(names, family, 3) == ["vit", "vit", "resnet", "swin"]
    assert dealt_groups(names, family, 4) == names
    with pytest.raises(DataError, match="4 architectures"):
        dealt_groups(names, family, 5)
