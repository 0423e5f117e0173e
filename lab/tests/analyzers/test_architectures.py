"""Splits of whole models: no architecture, or no family, is on two sides."""

from __future__ import annotations

from collections import Counter

import pytest

from perfc_lab.splitting import fold_of
from perfc_lab.tables.architectures import (
    FAMILY_PARTS,
    SEEDS,
    DatasetPart,
    families_in_turn,
    family,
    random_architectures,
    unseen_families,
)

MODELS = [
    f"{word}{size}_{i}"
    for word in ("vit", "resnet", "tf_mixnet")
    for size in (2, 5)
    for i in range(9)
]
MODELS += [f"net{chr(97 + i)}_{j}" for i in range(20) for j in range(3)]


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_are_kept(seed: int) -> None:
    count = Counter(random_architectures(MODELS, seed).values())
    assert count[DatasetPart.TEST] == count[DatasetPart.VALIDATION] == round(0.15 * len(MODELS))
    families = Counter(unseen_families(MODELS, seed).values())
    assert round(0.15 * len(MODELS)) <= families[DatasetPart.TEST] <= 0.3 * len(MODELS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_family_is_on_one_side(seed: int) -> None:
    part = unseen_families(MODELS, seed)
    sides: dict[str, set[DatasetPart]] = {}
    for model, side in part.items():
        sides.setdefault(family(model), set()).add(side)
    assert all(len(s) == 1 for s in sides.values())


def test_every_family_is_tested_once() -> None:
    parts = [families_in_turn(MODELS, turn) for turn in range(FAMILY_PARTS)]
    assert parts == [families_in_turn(reversed(MODELS), turn) for turn in range(FAMILY_PARTS)]
    turns = {m: [p[m] for p in parts] for m in MODELS}
    assert all(sides.count(DatasetPart.TEST) == 1 for sides in turns.values())
    by_family: dict[str, set[tuple[DatasetPart, ...]]] = {}
    for model, sides in turns.items():
        by_family.setdefault(family(model), set()).add(tuple(sides))
    assert all(len(sides) == 1 for sides in by_family.values())


def test_the_order_of_models_does_not_matter() -> None:
    assert random_architectures(MODELS, 1) == random_architectures(reversed(MODELS), 1)
    assert random_architectures(MODELS, 1) != random_architectures(MODELS, 2)


def test_folds_take_whole_groups() -> None:
    assert set(fold_of(["a", "b", "a", "c"], 2, 0)) == {"a", "b", "c"}
    assert set(fold_of("abcdef", 3, 0).values()) == {0, 1, 2}
