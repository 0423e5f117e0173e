"""Published speeds and formats of Qwen as rows for trees."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("xgboost")
np = pytest.importorskip("numpy")

from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.replay import Unanswered
from perfc_lab.trees import experiment, rows
from perfc_lab.trees.rows import (
    QWEN,
    Target,
    expected_bytes,
    qwen_speed,
    rows_of,
)

from .test_tree_rows import qwen_row

QWEN_ROW = {
    "model": "Qwen2.5-7B-Instruct",
    "precision": "BF16",
    "framework": "Transformers",
    "gpus": 1,
    "input_tokens": 1,
    "output_tokens": 2048,
    "tokens_per_s": 40.0,
    "memory": 14.5,
}


def test_speeds_of_qwen_are_read(tmp_path: Path) -> None:
    other = {
        **QWEN_ROW,
        "framework": "vLLM",
        "precision": "GPTQ-Int4",
        "memory": math.nan,
        "input_tokens": 0,
        "gpus": 2,
    }
    pd.DataFrame([QWEN_ROW, other]).to_parquet(tmp_path / f"{QWEN}.parquet")
    plain, quantised = qwen_speed(tmp_path)
    assert plain.name == "Qwen2.5-7B-Instruct BF16 1 0"
    assert (plain.model, plain.target, plain.runtime) == (
        "qwen2.5-7b",
        "a100-sxm4-80gb",
        "transformers",
    )
    assert plain.measured == {
        ServingQuantity.TOKENS_PER_S: 40.0,
        ServingQuantity.MEMORY_BYTES: 14.5 * 2**30,
    }
    assert (plain.concurrency, plain.isl, plain.osl, plain.weights) == (1, 1, 2048, "bf16")
    assert (quantised.isl, quantised.tensor, quantised.weights) == (1, 2, "gptq")
    assert quantised.measured == {ServingQuantity.TOKENS_PER_S: 40.0}
    assert quantised.runtime == "vllm"


def test_rows_without_a_configuration_are_left_out_and_those_without_steps_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = {**QWEN_ROW, "model": "Qwen9-1B"}
    pd.DataFrame([unknown, QWEN_ROW]).to_parquet(tmp_path / f"{QWEN}.parquet")
    requested: list[ServedRow] = []
    monkeypatch.setattr(
        rows, "samples", lambda served: requested.append(served) or Unanswered(served, "no")
    )
    (memory,) = rows_of(QWEN, tmp_path)
    assert [list(s.measured) for s in requested] == [[ServingQuantity.TOKENS_PER_S]], (
        "memory takes no time"
    )
    assert (memory.target, memory.value) == (Target.MEMORY, 14.5 * 2**30)
    assert memory.expected == expected_bytes(memory.served)
    said: list[str] = []
    assert len(experiment.gathered(tmp_path, (QWEN,), said.append)) == 1
    assert said == ["qwen_speed: 1 numbers"]


def test_formats_are_compared_with_the_same_row_of_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        qwen_row("BF16", 100.0),
        qwen_row("BF16", 200.0, 64),
        qwen_row("AWQ", 50.0),
        qwen_row("AWQ", 25.0, 64),
        qwen_row("AWQ", 1.0, 999),
        qwen_row("GPTQ-Int8", 60.0, 64),
    ]
    monkeypatch.setattr(
        experiment, "left_out", lambda own, make, kind: (np.array([2 * r.value for r in own]), 0.0)
    )
    found = {q.weights: q for q in experiment.quantised(given)}
    assert set(found) == {"BF16", "AWQ", "GPTQ-Int8"}
    # a half and an eighth: a quarter in the geometric mean
    assert (found["AWQ"].count, found["AWQ"].measured) == (2, pytest.approx(0.25))
    assert found["GPTQ-Int8"].measured == pytest.approx(0.3)
    assert found["BF16"].predicted == pytest.approx(1.0)
    assert {q.target for q in found.values()} == {Target.MEMORY}
    assert list(experiment.quantised([qwen_row("BF16", 1.0)][:0])) == []
