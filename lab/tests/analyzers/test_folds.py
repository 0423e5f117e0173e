"""Folds and cuts between training and test."""

from __future__ import annotations

import zlib

import numpy as np

from perfc.analyzers.features.rows import Protocol
from perfc_lab.data.rows import Rows
from perfc_lab.splitting import fold_of
from perfc_lab.tables.architectures import (
    FAMILY_PARTS,
    DatasetPart,
    families_in_turn,
    family,
    random_architectures,
    unseen_families,
)
from perfc_lab.training.protocols import (
    UnseenMachine,
    UnseenShapes,
    every_fold,
    folds,
    same_chip,
    split,
    targets,
)

# Parts


def kernel_block(target: str, **columns: list[float]) -> Rows:
    arrays = {n: np.array(c, np.float64) for n, c in columns.items()}
    times = np.ones(len(next(iter(arrays.values()))))
    return Rows("matmul", target, "bf16", Protocol.GRAPH, "", arrays, times)


def test_rows_of_one_group_of_shapes_are_in_one_fold() -> None:
    rows = kernel_block("t4", m=[1, 2, 3, 4], n=[64, 64, 128, 256], k=[8, 8, 8, 9])
    found = folds(rows, ("n", "k"))
    keys = [(64, 8), (64, 8), (128, 8), (256, 9)]
    checksums = [zlib.crc32(repr(key).encode()) for key in keys]
    assert found.tolist() == [c % 5 for c in checksums]
    assert folds(rows, ("n", "k"), 10).tolist() == [c // 5 % 10 for c in checksums]
    holdouts = every_fold(("n", "k"))
    assert [h.fold for h in holdouts] == [0, 1, 2, 3, 4]
    tested = [h.held_out(rows) for h in holdouts]
    assert np.sum(tested, axis=0).tolist() == [1, 1, 1, 1]
    assert UnseenShapes(("n", "k"), 2).name == "unseen (n, k), fold 2"


def test_a_machine_left_out_may_take_its_twins_with_it() -> None:
    blocks = [
        kernel_block(t, m=[1, 2], n=[3, 4], k=[5, 6])
        for t in ("h100-sxm5-80gb", "h200-sxm-141gb", "t4")
    ]
    alone = split(blocks, UnseenMachine("h100-sxm5-80gb"))
    assert [b.target for b in alone.train] == ["h200-sxm-141gb", "t4"]
    assert [b.target for b in alone.test] == ["h100-sxm5-80gb"]
    twins = UnseenMachine("h100-sxm5-80gb", twins=True)
    assert [b.target for b in split(blocks, twins).train] == ["t4"]
    assert twins.name == "unseen machine h100-sxm5-80gb and its twins"
    assert UnseenMachine("t4").name == "unseen machine t4"
    assert same_chip("t4") == {"t4"}
    assert same_chip("gb200") == {"gb200", "b200-sxm-180gb"}
    assert targets(blocks) == ("h100-sxm5-80gb", "h200-sxm-141gb", "t4")


def test_rows_are_cut_between_training_and_test() -> None:
    rows = kernel_block("t4", m=[1, 2, 3, 4], n=[64, 64, 128, 256], k=[8, 8, 8, 9])
    holdout = UnseenShapes(("n", "k"), int(folds(rows, ("n", "k"))[0]))
    found = split([rows], holdout)
    held = holdout.held_out(rows)
    assert len(found.test[0]) == held.sum() >= 2
    assert sum(map(len, found.train)) + len(found.test[0]) == 4


def test_architectures_are_cut_at_random_or_by_family() -> None:
    names = [f"{family}{i}_a" for family in ("resnet", "vit", "swin", "vgg") for i in range(10)]
    for cut_by, is_family in ((random_architectures, False), (unseen_families, True)):
        found = cut_by(names, 1)
        counts = [sum(p is part for p in found.values()) for part in DatasetPart]
        assert sum(counts) == 40
        if not is_family:
            assert counts == [28, 6, 6]
            continue
        parts = {(family(n), found[n]) for n in names}
        assert len(parts) == 4, "a family is in one part"
        assert counts == [20, 10, 10]
    assert random_architectures(names, 1) != random_architectures(names, 2)
    assert random_architectures(names, 1) == random_architectures(reversed(names), 1)


def test_every_family_is_tested_in_one_turn() -> None:
    names = [f"{family}_{i}" for family in "abcdefghij" for i in range(3)]
    turns = [families_in_turn(names, turn) for turn in range(FAMILY_PARTS)]
    assert all(sum(t[n] is DatasetPart.TEST for t in turns) == 1 for n in names)
    sizes = [sum(p is DatasetPart.TEST for p in t.values()) for t in turns]
    assert sorted(sizes) == [3, 3, 3, 3, 6, 6, 6]


def test_groups_are_dealt_to_folds_evenly() -> None:
    found = fold_of([*"abcdefg", "a"], 3, 0)
    assert sorted(found) == list("abcdefg")
    assert sorted(list(found.values()).count(i) for i in range(3)) == [2, 2, 3]
    assert found != fold_of("abcdefg", 3, 1)
