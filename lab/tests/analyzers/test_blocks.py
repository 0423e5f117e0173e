"""Blocks of models left out: what is summed, and with what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.estimators.predictor import Estimates
from perfc.analyzers.features.rows import Protocol
from perfc_lab.data.rows import Rows
from perfc_lab.tables.language_models import KNOWN, NAMES, number
from perfc_lab.training.evaluate import Tested
from perfc_lab.training.experiments import experiments
from perfc_lab.training.experiments.blocks import (
    Blocks,
    layer_sums,
    left_out,
    of_blocks,
    with_several_models,
)


def rows_with_estimates(
    name: str, time_s: list[float], framework: str = "vllm", **columns: list[float]
) -> Tested:
    """Rows of which each is predicted a tenth too long, in a range of a third."""
    whole = {"model": [0.0] * len(time_s), "shards": [1.0] * len(time_s), **columns}
    measured = np.array(time_s)
    rows = Rows(
        name,
        "rtx4090",
        "bf16",
        Protocol.KERNELS,
        framework,
        {n: np.array(c, np.float64) for n, c in whole.items()},
        measured,
    )
    ends = [measured * by for by in (1.1, 0.9, 1.3, 0.5)]
    return Tested(rows, Estimates(*ends, np.zeros(len(time_s), np.bool_), name))


LAYERS = (
    rows_with_estimates("matmul", [1.0, 2.0, 9.0], m=[8, 8, 16], in_block=[1, 1, 0]),
    rows_with_estimates("tokenwise", [0.5, 0.25, 7.0], tokens=[8, 8, 32], in_block=[2, 1, 1]),
)


def test_a_block_sums_its_layers_as_often_as_it_has_them() -> None:
    sums = layer_sums(LAYERS)
    # 16 tokens lack a layer of the block, 32 lack products
    assert sums.key == (("rtx4090", "vllm", 0.0, 1.0, 8.0),)
    assert sums.measured.tolist() == [1 + 2 + 2 * 0.5 + 0.25]
    floor, low, time, high = sums.ends[:, 0]
    assert (floor, time) == (pytest.approx(0.5 * 4.25), pytest.approx(1.1 * 4.25))
    # products are wrong together, layers of the other class apart from them
    assert time - low == pytest.approx(0.2 * np.hypot(3, 1.25))
    assert high - time == pytest.approx(0.2 * np.hypot(3, 1.25))


def test_attention_joins_the_layers_of_as_many_tokens() -> None:
    mixed = rows_with_estimates(
        "mixed_attention",
        [1.0, 1.0],
        batch=[1, 1],
        query_len=[6, 7],
        decodes=[2, 2],
    )
    found = {
        "matmul": LAYERS[:1],
        "tokenwise": LAYERS[1:],
        "mixed_attention": [mixed],
        "attention_prefill": [],
        "attention_decode": [],
    }
    lines = {line.slice: line for line in of_blocks(found)}
    (name,) = [name for name in lines if "mixed" in name]
    assert (lines[name].rows, lines[name].mape) == (1, pytest.approx(0.1))
    assert lines[name].coverage == 1
    assert not lines[name].met


def test_no_row_of_a_model_left_out_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    block = LAYERS[0].rows
    both = replace(block, columns={**block.columns, "model": np.array([0.0, 1.0, 0.0])})
    graphs = replace(block, columns={"m": block.columns["m"]})
    seen: list[Rows] = []

    def train(name: str, taught: list[Rows], *_: object, **__: object) -> None:
        seen.extend(taught)

    module = "perfc_lab.training.experiments.blocks"
    monkeypatch.setattr(f"{module}.train", train)
    monkeypatch.setattr(f"{module}.test", lambda _, tests, __: tests)
    held = left_out("matmul", [both, graphs], 0)
    assert [each.time_s.tolist() for each in seen] == [[2.0], [1.0, 2.0, 9.0]]
    assert [each.time_s.tolist() for each in held] == [[1.0, 9.0]]


def on(target: str, models: list[float]) -> Tested:
    """Products of some models on a machine, with their estimates."""
    one = rows_with_estimates("matmul", [1.0] * len(models), m=[8.0] * len(models))
    columns = {**one.rows.columns, "model": np.array(models)}
    return replace(one, rows=replace(one.rows, target=target, columns=columns))


def test_machines_of_one_model_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """-1 is no model that is known."""
    each = [on("l4", [3.0, 3.0, -1.0]), on("t4", [0.0, 1.0])]
    assert with_several_models([one.rows for one in each]) == {"t4"}
    module = "perfc_lab.training.experiments.blocks"
    rows = {"matmul": [one.rows for one in each]}
    monkeypatch.setattr(f"{module}.rows_of", lambda name, _: rows.get(name, []))
    monkeypatch.setattr(f"{module}.left_out", lambda name, *_: each if name == "matmul" else [])
    lines = {line.slice: line.rows for line in Blocks().evaluate(Path(), print)}
    models = len(KNOWN)
    expected = {"products": 5 * models, "products, machines of several models": 2 * models}
    assert lines == expected


def test_models_of_the_same_layers_are_one() -> None:
    assert number("meta-llama/Llama-3.1-8B") == number("meta-llama/Meta-Llama-3-8B") == 0
    assert number("nobody/knows") == -1
    assert set(NAMES.values()) <= set(KNOWN)
    assert not experiments()["blocks"].has_weights
