"""Readers of published tables of served models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfc_lab.serving import (
    ServerSettings,
    ServingQuantity,
    aic,
    tables,
)
from perfc_lab.serving.checks import card_of, llama_cpp
from perfc_lab.serving.weights import EXPERTS_NVFP4

AIC = {
    "row_id": "a",
    "mode": "agg",
    "model_path": "Qwen/Qwen3-8B",
    "system": "h200_sxm",
    "backend": "trtllm",
    "backend_version": "1.0.0",
    "gemm_quant_mode": "fp8",
    "isl": 1024,
    "precision": "fp8",
    "osl": 512,
    "concurrency": 16,
    "batch_size": 4,
    "ttft_ms": 250.0,
    "tpot_ms": 8.0,
    "tp_size": 2,
    "moe_tp_size": 1,
    "moe_ep_size": 1,
    "attention_dp_size": 1,
    "decode_tp_size": 4,
    "decode_moe_tp_size": 1,
    "decode_moe_ep_size": 1,
    "decode_attention_dp_size": 1,
    "prefill_tp_size": 2,
    "prefill_moe_tp_size": 1,
    "prefill_moe_ep_size": 1,
    "prefill_attention_dp_size": 1,
    "prefill_num_workers": 3,
    "decode_num_workers": 2,
    "decode_batch_size": 5,
    "measured": "2026-03-25",
}


def written(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    pd.DataFrame(list(rows)).to_parquet(folder / f"{name}.parquet")
    return folder


def test_engines_of_aiconfigurator_are_read(tmp_path: Path) -> None:
    disaggregated = {**AIC, "row_id": "b", "mode": "disagg", "concurrency": None}
    without_workers = {
        **disaggregated,
        "row_id": "c",
        "decode_num_workers": None,
        "prefill_num_workers": None,
        "ttft_ms": 252.0,
    }
    block = {
        **AIC,
        "row_id": "d",
        "backend": "sglang",
        "gemm_quant_mode": None,
        "backend_version": None,
        "concurrency": None,
        "measured": None,
    }
    whole, two, one, plain = aic.aic_serving(
        written(tmp_path, aic.AIC, AIC, disaggregated, without_workers, block)
    )
    assert (whole.source, whole.name, whole.model) == (aic.AIC, "a", "Qwen/Qwen3-8B")
    assert whole.target == "h200-sxm-141gb"
    assert (whole.runtime, whole.version, whole.weights) == ("trtllm", "1.0.0", "f8-block")
    assert (whole.tensor, whole.expert, whole.attention_data, whole.engines) == (2, 1, 1, 1)
    assert (whole.isl, whole.osl, whole.concurrency, whole.prefill) == (1024, 512, 16, ())
    assert whole.measured == {ServingQuantity.TTFT_S: 0.25, ServingQuantity.TPOT_S: 0.008}
    assert (whole.dataset, whole.is_static, whole.is_eager) == ("", False, False)
    assert (two.tensor, two.engines, two.prefill, two.dataset) == (4, 2, (2, 1, 3), aic.STATED)
    assert two.concurrency == 4, "the first batch of the row"
    assert (one.engines, one.prefill, one.dataset) == (1, (2, 1, 1), aic.UNSTATED)
    assert (plain.weights, plain.version, plain.concurrency) == ("bf16", "", 4)
    assert (whole.measured_on, plain.measured_on) == ("2026-03-25", "")
    lone = {**disaggregated, "batch_size": None}
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, lone))
    assert found.concurrency == 10, "five of each of two workers"
    kept = {
        **without_workers,
        "system": "b200_sxm",
        "precision": "fp4",
        "gemm_quant_mode": "nvfp4",
        "backend_version": "0.8.1.post1",
        "isl": 1024,
        "osl": 1024,
        "concurrency": 1214,
        "decode_tp_size": 8,
    }
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, kept))
    # inferencex/b200.toml: one worker of prompts, two of tokens whose 8 ranks have own sequences
    assert (found.tensor, found.attention_data, found.engines) == (1, 8, 2)
    assert (found.prefill, found.dataset, found.drafted) == ((2, 1, 1), aic.STATED, 2)
    newer = {**AIC, "backend": "sglang"}
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, newer))
    assert found.weights == "f8", "its newer products in blocks take what those with one scale do"


TRT = {
    "version": "0.10.0",
    "model": "GPTJ 6B",
    "gpu": "H100",
    "precision": "fp8",
    "isl": 128,
    "osl": 128,
    "metric": "tokens",
    "tp": 2,
    "pp": 1,
    "dep": 1,
    "value": 7.0,
    "total_output_tokens_per_s": 900.0,
    "batch": 64.0,
}


def test_benchmarks_of_tensorrt_llm_are_read(tmp_path: Path) -> None:
    faulty = {**TRT, "osl": 2048}
    first = {
        **TRT,
        "metric": "first_token_latency_ms",
        "precision": "fp16",
        "batch": None,
        "model": "LLaMA 70B",
    }
    split = {
        **TRT,
        "version": "1.0",
        "dep": 8,
        "tp": 1,
        "model": "DeepSeek-R1",
        "precision": "fp4",
        "gpu": "B200",
    }
    rate, ttft, experts = tables.trtllm_throughput(
        written(tmp_path, tables.TRTLLM, TRT, faulty, first, split)
    )
    assert rate.name == "0.10.0 GPTJ 6B H100 fp8 128/128 0"
    assert rate.measured == {ServingQuantity.TOKENS_PER_S: 900.0}
    assert (rate.weights, rate.cache, rate.tensor, rate.expert) == ("f8", "f8e4m3", 2, 1)
    assert (rate.concurrency, rate.is_static, rate.attention_data) == (64, True, 1)
    assert ttft.measured == {ServingQuantity.TTFT_S: 0.007}
    assert (ttft.model, ttft.weights, ttft.cache) == ("LLaMA v2 70B", "f16", "")
    assert (ttft.concurrency, ttft.is_static) == (0, False)
    assert (experts.tensor, experts.expert, experts.attention_data) == (1, 8, 8)
    assert experts.weights == EXPERTS_NVFP4


def test_a_page_that_states_single_gpus_is_read_so(tmp_path: Path) -> None:
    old = {**TRT, "version": "0.6.1", "total_output_tokens_per_s": 7.0}
    (found,) = tables.trtllm_throughput(written(tmp_path, tables.TRTLLM, old))
    assert found.measured == {ServingQuantity.TOKENS_PER_S: 14.0}, "7 of each of two GPUs"


def test_rows_with_power_are_read(tmp_path: Path) -> None:
    given = {
        "max_num_seqs": 32.0,
        "weight_precision": "bfloat16",
        "model_id": "Qwen/Qwen3-8B",
        "task": "gpqa",
        "num_gpus": 2,
        "gpu_model": "B200",
        "avg_output_len": 300.4,
        "output_throughput_tokens_per_sec": 1000.0,
        "energy_per_token_joules": 0.5,
    }
    others = (
        {**given, "gpu_model": "H100"},
        {**given, "task": "chat", "avg_output_len": 0.6},
        {**given, "model_id": "meta-llama/Llama-3.1-8B", "weight_precision": "fp8"},
        {**given, "max_num_seqs": math.nan},
    )
    eager, h100, chat, llama = tables.ml_energy(written(tmp_path, tables.ML_ENERGY, given, *others))
    assert [r.is_eager for r in (eager, h100, chat, llama)] == [True, False, False, False]
    assert (eager.isl, eager.osl, eager.concurrency) == (225, 300, 32)
    assert chat.osl == 2, "two tokens at least"
    assert eager.settings == ServerSettings(max_num_seqs=32)
    assert (eager.weights, llama.weights, eager.tensor) == ("bf16", "", 2)
    assert eager.measured == {ServingQuantity.TOKENS_PER_S: 1000.0, ServingQuantity.ENERGY_J: 0.5}


def test_cards_are_counted() -> None:
    assert card_of("4090 24GB  2") == ("4090 24GB", 24.0, 2)
    assert card_of("A100 SXM 80GB") == ("A100 SXM 80GB", 80.0, 1)


def test_llama_cpp_fits_by_its_bits_and_is_timed_where_the_card_is_known(tmp_path: Path) -> None:
    given = {
        "device": "4090 24GB",
        "precision": "F16",
        "phase": "generate 128",
        "fits": True,
        "tokens_per_s": 54.0,
    }
    rows = (
        given,
        {**given, "precision": "Q4_K_M", "phase": "prompt 512", "tokens_per_s": 3000.0},
        {**given, "device": "M1 Max 10GB", "fits": False, "tokens_per_s": math.nan},
        {**given, "device": "M1 Max 10GB  2"},
        {**given, "tokens_per_s": math.nan},
    )
    found = list(llama_cpp(written(tmp_path, "llamacpp_speed", *rows)))
    fits = [(c.measured, c.predicted) for c in found if c.quantity == "fits"]
    assert fits == [(2.0, 2.0), (2.0, 2.0), (1.0, 1.0), (2.0, 2.0), (2.0, 2.0)]
    generate, prompt = (c for c in found if c.quantity != "fits")
    assert (generate.quantity, prompt.quantity) == ("generate", "prompt")
    # 8 billion weights of 16 bits at 1 TB/s: some 60 tokens a second, prompts far more
    assert 40 < generate.predicted < 64
    assert prompt.predicted > 40 * generate.predicted
    assert generate.error == pytest.approx(generate.predicted / 54 - 1)
