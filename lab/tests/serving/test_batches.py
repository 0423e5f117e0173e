"""Fixed batches as calls of `perfc.llm`, with the laws of other models."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import perfc
from perfc.cli import run
from perfc.serving.host import HostModel, host_models
from perfc_lab.serving.batch_laws import laws_of, left_out, sampled, with_laws
from perfc_lab.serving.batch_scores import scored
from perfc_lab.serving.batches import BatchAnswer, FixedBatch, answered, fixed_batches

BATCH = FixedBatch("llama-2-7b", "a100-sxm4-40gb", "vllm", "0.6", 2, 128, 16, 1.405)


def said(command: str, path: Path) -> Any:
    """Return the JSON report that a command writes."""
    assert run([*shlex.split(command)[1:], "-o", str(path)]) == 0
    return json.loads(path.read_text())


def test_rows_are_read_but_for_models_and_runtimes_that_perfc_lacks(tmp_path: Path) -> None:
    names = "machine", "num_gpus", "framework", "model", "tokens_in_and_out", "batch"
    lines = [
        ("A100", 2, "vLLM", "meta-llama/Llama-2-7b-hf", 128, 16),
        ("A100", 2, "Deepspeed-MII", "meta-llama/Llama-2-7b-hf", 128, 16),
        ("A100", 1, "vLLM", "Deci/DeciLM-7B", 128, 16),
        ("MI300X", 2, "llama.cpp", "Qwen/Qwen2-7B", 256, 32),
    ]
    table = pd.DataFrame(lines, columns=names).assign(batch_latency_s=1.405, prompt_alone=False)
    table.to_parquet(tmp_path / "argonne_batches.parquet")
    first, second = fixed_batches(tmp_path)
    assert first == BATCH
    assert second.command() == (
        "perfc llm qwen2-7b -t mi300x --isl 256 --osl 256 --runtime llamacpp --dtype f16 "
        "--token-budget 32 --requests 1 --pp 2"
    )
    assert second.options()["parallel"] == {"pp": 2}


def test_an_answer_is_that_of_the_public_call_and_of_the_command(tmp_path: Path) -> None:
    answer = answered(BATCH)
    assert isinstance(answer, BatchAnswer)
    report = perfc.llm(
        "llama-2-7b",
        "a100-sxm4-40gb",
        isl=128,
        osl=128,
        runtime="vllm",
        runtime_version="0.6",
        dtype="f16",
        concurrency=16,
        requests=16,
        offline=True,
        parallel={"tp": 2},
    )
    assert report.batch is not None
    assert answer.time_s == report.batch.time_s
    assert answer.low_s < answer.time_s < answer.high_s
    assert said(BATCH.command(), tmp_path / "batch.json")["batch"]["time_s"] == answer.time_s
    single = replace(BATCH, model="llama-3-8b", runtime="llamacpp", version="", batch=32)
    chunked = answered(single)
    assert isinstance(chunked, BatchAnswer)
    assert (
        said(single.command(), tmp_path / "single.json")["latencies"]["end_to_end"]["mean"]
        == chunked.time_s
    )


def test_laws_stand_in_for_those_that_come_with_perfc() -> None:
    usual = answered(BATCH)
    slow = replace(host_models()["vllm-bench 0.6"], step_s=0.1)
    with with_laws({"vllm-bench 0.6": slow}):
        slowed = answered(BATCH)
    assert isinstance(slowed, BatchAnswer)
    assert slowed.time_s > 10
    assert answered(BATCH) == usual


def test_a_model_is_predicted_with_the_laws_of_others() -> None:
    others = [replace(BATCH, model="llama-3-8b", batch=n, time_s=100.0) for n in range(1, 9)]
    samples = sampled([BATCH, *others])
    assert len(samples) == 9
    assert laws_of(samples)["vllm-bench 0.6"].rows == 9
    first, *rest = left_out([BATCH, *others], samples)
    assert first.time_s > 5, "steps of 0.8 s"
    bare = HostModel(launch_s=4e-5, rows=1, versions=("0.6",))
    with with_laws({"vllm-bench 0.6": bare}):
        alone = answered(others[0])
    assert isinstance(alone, BatchAnswer)
    assert rest[0].time_s == pytest.approx(alone.time_s, rel=1e-3), "one row teaches nothing"


def test_errors_are_of_tokens_a_second() -> None:
    (answer,) = scored([BatchAnswer(BATCH, BATCH.time_s / 2, 0.5, 1.5)])
    assert answer.mape == pytest.approx(1.0)
    assert answer.bias == pytest.approx(1.0)
    assert answer.coverage == 1.0
