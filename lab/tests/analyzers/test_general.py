"""What a forest learned of machines that were measured does not speak for others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.artefact import Artefact, WeightsError
from perfc.analyzers.estimators.predictor import predict_with
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine
from perfc_lab.data import weights as weights_
from perfc_lab.training.fit import Recipe, train

from .synthetic import blocks, matmul_rows

RECIPE = Recipe(
    trees=20, depth=4, spread_trees=5, left_out={"trees": 6, "depth": 2, "levels": 1}, general=True
)


@pytest.fixture(scope="module")
def general() -> Artefact:
    found = train("matmul", blocks(count=300), RECIPE, ("n", "k"), leave_machines_out=False)
    assert found.card.general == 6
    return found


def times(found: Artefact, target: str) -> np.ndarray:
    rows = matmul_rows(target, 200, seed=9)
    sheet = Sheet(load_machine(target))
    return predict_with(found, rows.columns, "bf16", sheet, Protocol.GRAPH, "one").time_s


def test_machines_that_were_measured_have_the_whole_forest(general: Artefact) -> None:
    whole = replace(general, card=replace(general.card, general=0))
    assert np.array_equal(times(general, "h100-sxm5-80gb"), times(whole, "h100-sxm5-80gb"))


def test_others_have_its_first_trees(general: Artefact) -> None:
    few = replace(general, factor=general.factor.first(6))
    assert np.array_equal(times(general, "l40s"), times(few, "l40s"))
    whole = replace(general, card=replace(general.card, general=0))
    assert not np.array_equal(times(general, "l40s"), times(whole, "l40s"))


def test_the_first_trees_are_those_of_machines_left_out(general: Artefact) -> None:
    small = RECIPE.for_unseen_machine()
    assert not small.general
    alone = train("matmul", blocks(count=300), small, ("n", "k"), leave_machines_out=False)
    rows = np.asarray([general.middle], np.float32)
    assert general.factor.first(6)(rows) == pytest.approx(alone.factor(rows), abs=1e-6)


def test_more_trees_than_there_are_is_damage(general: Artefact, tmp_path: Path) -> None:
    card = replace(general.card, general=len(general.factor.roots) + 1)
    weights_.save(replace(general, card=card), tmp_path)
    with pytest.raises(WeightsError, match="more trees"):
        artefact.load(tmp_path / "matmul.json")
