"""Published rows as calls of ``perfc.llm``, scored by answers without the row's model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfc.serving import host, llm
from perfc.serving.host import HostModel, host_model_of
from perfc_lab.serving import ServedRow, ServingQuantity, scoreboard, tables
from perfc_lab.serving.aic import AIC
from perfc_lab.serving.questions import PrintedNumber, answer, predicted, question, shipped
from perfc_lab.serving.replay import Unanswered
from perfc_lab.serving.scores import (
    Answered,
    ServingEvidence,
    answered,
    biases,
    kind_of_row,
    sampled,
    scored,
)
from perfc_lab.serving.weights import EXPERTS_NVFP4

from .test_evidence import row, sample

TTFT, TPOT, RATE, ENERGY = (
    ServingQuantity.TTFT_S,
    ServingQuantity.TPOT_S,
    ServingQuantity.TOKENS_PER_S,
    ServingQuantity.ENERGY_J,
)


def question_row(**changed: Any) -> ServedRow:
    return row(**{"source": AIC, "tensor": 1, **changed})


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        (
            {"isl": 1024, "osl": 8192, "version": "0.19.0", "tensor": 2},
            "--isl 1024 --osl 8192 --concurrency 4 --dtype bf16 --tp 2 --runtime vllm "
            "--runtime-version 0.19.0 --spread 0.2",
        ),
        (
            {"runtime": "sglang", "version": "0.5.6.post2"},
            "--isl 100 --osl 11 --concurrency 4 --dtype bf16 --runtime sglang "
            "--runtime-version 0.5.6.post2 --spread 0.0 --token-budget 1600 "
            "--batching whole-prompts",
        ),
        (
            {"prefill": (2, 1, 3), "version": "0.8.1.post2"},
            "--isl 100 --osl 11 --concurrency 4 --dtype bf16 --runtime vllm --spread 0.0 "
            "--prefill-gpus 6 --prefill-parallel tp=2",
        ),
        (
            {"source": tables.ML_ENERGY},
            "--isl 100 --osl 11 --concurrency 4 --dtype bf16 --runtime vllm "
            "--runtime-version 0.11.1 --max-num-seqs 4",
        ),
        (
            {"source": tables.TRTLLM, "runtime": "trtllm", "version": "v1.0", "pipeline": 4},
            "--isl 100 --osl 11 --concurrency 2000 --dtype bf16 --pp 4 --runtime trtllm "
            "--runtime-version 1.0 --offline --requests 2000",
        ),
        (
            {"version": "nightly-5b8c"},
            "--isl 100 --osl 11 --concurrency 4 --dtype bf16 --runtime vllm --spread 0.0",
        ),
    ],
)
def test_a_row_is_the_command_that_a_user_types(changed: dict[str, Any], command: str) -> None:
    assert (
        question(question_row(**changed)).command
        == f"perfc llm llama-3.1-8b -t h100-sxm5-80gb {command}"
    )


def test_experts_in_four_bits_are_those_of_the_checkpoint() -> None:
    typed = question(question_row(model="deepseek-v3", weights=EXPERTS_NVFP4))
    assert "dtype" not in typed.options
    assert typed.model.quantization is not None
    assert typed.model.quantization.experts is not None


def test_an_answer_has_what_the_page_prints() -> None:
    one = question_row(measured={TTFT: 1.0, TPOT: 1.0, RATE: 1.0, ENERGY: 1.0})
    report = answer(one)
    printed = predicted(report, one)
    assert report.latencies is not None
    assert report.tpot_band is not None
    assert report.throughput is not None
    mean_s = report.latencies.ttft.mean
    assert printed[TTFT].value == mean_s
    assert printed[TPOT].low < printed[TPOT].value < printed[TPOT].high
    assert printed[RATE].high == report.throughput.output_tokens_per_s / report.tpot_band.low
    assert printed[ENERGY].value > 0


def test_held_out_files_are_read_and_given_back() -> None:
    before, path = host_model_of("vllm"), host.FILE
    with shipped({"vllm": HostModel(step_s=0.5, rows=3)}, {}, {}):
        assert host_model_of("vllm").step_s == 0.5
        report = llm("llama-3.2-1b", "h100", isl=64, osl=4)
        assert report.latencies is not None
        assert report.latencies.tpot is not None
        assert report.latencies.tpot.mean > 0.5
    assert (host_model_of("vllm"), host.FILE) == (before, path)


def test_rows_without_an_answer_are_counted_with_the_reason() -> None:
    unfit = question_row(model="deepseek-v3", measured={TPOT: 1.0})
    none = question_row(model="nobody's", measured={TPOT: 1.0})
    every = [answered(unfit), answered(none)]
    assert [a.reason for a in every] == ["the model does not fit", "no configuration of nobody's"]
    (mixture, dense) = scored(every)
    assert (mixture.slice, mixture.rows, mixture.unanswered) == ("experts", 0, 1)
    assert (dense.slice, dense.rows, dense.unanswered) == ("dense", 0, 1)


def test_each_run_is_drawn_once_and_so_many_of_a_slice() -> None:
    def of(model: str, count: int) -> list[Any]:
        return [
            sample(name=f"{model}{i}", model=model, measured={TPOT: i // 2}, source=AIC)
            for i in range(count)
        ]

    evidence = ServingEvidence(
        (*of("a", 20), *of("mixtral", 8)), (Unanswered(question_row(measured={TPOT: 99.0}), "why"),)
    )
    kinds = [kind_of_row(r) for r in sampled(evidence, 6)]
    assert (kinds.count("dense"), kinds.count("experts")) == (6, 4)
    assert len(sampled(evidence, 0)) == 10 + 4 + 1
    assert kind_of_row(question_row(model="mixtral", prefill=(1, 1, 1))) == "prefill on other GPUs"


def said(quantity: ServingQuantity, measured: float, *printed: float) -> Answered:
    return Answered(
        question_row(measured={quantity: measured}), {quantity: PrintedNumber(*printed)}
    )


def test_errors_are_of_what_was_measured_and_those_of_rates_of_their_time() -> None:
    (time,) = scored([said(TPOT, 2.0, 3.0, 1.0, 4.0), said(TPOT, 2.0, 1.0, 0.5, 1.5)])
    assert (time.mape, time.median, time.bias, time.coverage) == (0.5, 0.5, 0.0, 0.5)
    (rate,) = scored([said(RATE, 2.0, 1.0, 0.5, 1.5)])
    assert (rate.mape, rate.bias, rate.coverage) == (1.0, 1.0, 0.0)
    (energy,) = scored([said(ENERGY, 2.0, 1.0)])
    assert energy.coverage != energy.coverage, "the page prints no interval"
    assert not list(biases([said(TPOT, 2.0, 3.0, 1.0, 4.0)] * 7))
    (bias,) = biases([said(TPOT, 2.0, 3.0, 1.0, 4.0)] * 8)
    assert (bias.slice, bias.bias) == ("llama-3.1-8b, vllm on h100", 0.5)


def test_the_page_has_questions_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "replays", lambda _: ())
    monkeypatch.setattr(scoreboard, "llama_cpp", lambda _: ())
    unanswered = Answered(question_row(measured={TPOT: 1.0}), {}, "why")
    page = scoreboard.board([said(TPOT, 2.0, 3.0, 1.0, 4.0), unanswered], Path())
    scores, _, _, missing = page.tables
    (cells,) = scores.table.rows
    assert cells[:9] == (
        AIC,
        "time per output token",
        "dense",
        "1",
        "1",
        "50.0%",
        "50.0%",
        "+50.0%",
        "100%",
    )
    assert str(cells[9]).startswith("perfc llm llama-3.1-8b -t h100-sxm5-80gb --isl 100")
    assert missing.after == (f"1 × {AIC}: why",)


def test_stages_of_pipelines_are_read(tmp_path: Path) -> None:
    cells = {
        "version": "v1.0",
        "model": "LLaMA v3 70B",
        "gpu": "H100",
        "precision": "fp8",
        "batch": None,
        "tp": 2,
        "pp": 4,
        "dep": 0,
        "isl": 128,
        "osl": 128,
        "metric": "output_tokens_per_s",
        "value": 10.0,
        "total_output_tokens_per_s": 10.0,
    }
    pd.DataFrame([cells]).to_parquet(tmp_path / f"{tables.TRTLLM}.parquet")
    (only,) = tables.trtllm_throughput(tmp_path)
    assert (only.pipeline, only.tensor, only.gpus) == (4, 2, 8)
    parallel = question(only).options["parallel"]
    assert (parallel.tensor, parallel.pipeline) == (2, 4)
