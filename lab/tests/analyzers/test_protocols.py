"""Rows held out share no group, and no machine, with those trained on."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from perfc.analyzers.features.rows import DataError
from perfc_lab.training.protocols import UnseenMachine, UnseenShapes, every_fold, folds, split

from .synthetic import blocks, matmul_rows


def test_a_fold_is_the_checksum_of_its_group() -> None:
    rows = matmul_rows(count=50)
    expected = [
        zlib.crc32(repr((int(n), int(k))).encode()) % 5
        for n, k in zip(rows.columns["n"], rows.columns["k"], strict=True)
    ]
    assert folds(rows, ("n", "k")).tolist() == expected


def test_no_group_is_on_both_sides() -> None:
    parts = split(blocks(), UnseenShapes(("n", "k")))
    groups = [
        {(n, k) for b in side for n, k in zip(b.columns["n"], b.columns["k"], strict=True)}
        for side in (parts.train, parts.test)
    ]
    assert groups[0]
    assert groups[1]
    assert not groups[0] & groups[1]


def test_no_row_is_lost() -> None:
    all_rows = blocks()
    parts = split(all_rows, UnseenShapes(("n", "k")))
    total = sum(map(len, parts.train)) + sum(map(len, parts.test))
    assert total == sum(map(len, all_rows))


def test_twins_of_a_machine_are_not_seen_either() -> None:
    rows = blocks(("a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb"))
    alone = split(rows, UnseenMachine("h100-sxm5-80gb"))
    twins = split(rows, UnseenMachine("h100-sxm5-80gb", twins=True))
    assert {b.target for b in alone.train} == {"a100-sxm4-80gb", "h200-sxm-141gb"}
    assert {b.target for b in twins.train} == {"a100-sxm4-80gb"}
    assert {b.target for b in twins.test} == {"h100-sxm5-80gb"}


@pytest.mark.parametrize("wrong", [np.nan, -1.0, 0.0, np.inf])
def test_a_time_that_is_none_is_refused(wrong: float) -> None:
    rows = matmul_rows(count=10)
    time_s = rows.time_s.copy()
    time_s[3] = wrong
    with pytest.raises(DataError, match=r"1 of 10 times are none: row 3 takes .*positive"):
        type(rows)(
            rows.class_name, rows.target, rows.dtype, rows.protocol, "", rows.columns, time_s
        )


def test_every_fold_tests_every_row_once() -> None:
    everything = blocks()
    tested = sum(
        len(part) for holdout in every_fold(("n", "k")) for part in split(everything, holdout).test
    )
    assert tested == sum(map(len, everything))
