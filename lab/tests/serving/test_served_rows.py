"""Rows of served models: how tables are read and which settings they mean."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfc.frontend.config import Parallel, WeightFormat
from perfc.serving.host import HostModel
from perfc.serving.simulation.scheduler import Limits
from perfc_lab.serving import (
    ServerSettings,
    ServingQuantity,
    aic,
    replay,
    tables,
)
from perfc_lab.serving.checks import card_of, llama_cpp, replays
from perfc_lab.serving.hosts import (
    LAUNCH_S,
    SHARED_LAUNCH_S,
    VLLM_LAUNCH_S,
    launch_of,
)
from perfc_lab.serving.replay import Unanswered, engine_of_row, samples
from perfc_lab.serving.scores import law_name
from perfc_lab.serving.weights import EXPERTS_NVFP4, published
from perfc_lab.serving.workloads import cached, spread_of

from .test_evidence import row, sample


def test_what_has_no_configuration_is_unanswered() -> None:
    found = samples(row(model="nobody/knows-1b"))
    assert isinstance(found, Unanswered)
    assert found.reason == "no configuration of nobody/knows-1b"
    refused = samples(row(tensor=7))
    assert isinstance(refused, Unanswered)
    assert "7" in refused.reason


def test_experts_in_four_bits_leave_the_rest_as_it_was() -> None:
    requested = ("deepseek-v3", "b200", EXPERTS_NVFP4, "", Parallel(8, 1, 8), "vllm")
    experts = replay.engine_of(*requested).precision
    assert (experts.weights, experts.experts) == (WeightFormat.HALF, WeightFormat.NVFP4)
    plain = replay.engine_of("llama-3.1-8b", "b200", "nvfp4", "", Parallel(), "vllm")
    assert plain.precision.weights is WeightFormat.NVFP4
    assert plain.law == HostModel(launch_s=LAUNCH_S), "its host takes nothing but launches"


def test_lengths_vary_where_the_publisher_drew_them() -> None:
    assert spread_of(row(isl=1024, osl=8192)) == 0.2
    assert spread_of(row(isl=1024, osl=1000)) == 0.0
    assert spread_of(row(isl=1000, osl=1024)) == 0.0


def test_prompts_that_come_again_are_in_the_cache() -> None:
    known = row(isl=1600, osl=100, concurrency=50, distinct_prompts=100)
    roomy = Limits(kv_tokens=10**6, block_tokens=16)
    tokens, share = cached(known, roomy)
    assert tokens == 1584, "the last block is computed anew: its last token is wanted"
    # of 100 prompts 36.6 were not drawn in the first hundred draws, and 0.2 not in 600
    assert share == pytest.approx(1 - (0.99**100 - 0.99**600) * 100 / 500)
    running = 50 * (1600 + 50)
    half, none = (replace(roomy, kv_tokens=running + n) for n in (80_000, -1))
    assert cached(known, half)[1] == pytest.approx(share / 2), "half of them fit"
    assert cached(known, none)[1] == 0.0
    assert cached(row(), roomy) == (0, 0.0)
    few = cached(replace(known, concurrency=2), roomy)[1]
    assert few == pytest.approx(1 - (0.99**4 - 0.99**24) * 100 / 20)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((4, 1, 1, 1), (4, 1, 1)),
        ((2, 2, 2, 1), (2, 2, 1)),
        ((2, 4, 4, 2), (4, 4, 4)),
        ((8, 4, 2, 1), (8, 8, 1)),
        ((8, 1, 8, 1), (8, 8, 1)),
        ((1, 1, 8, 8), (8, 8, 8)),
        ((1, 4, 2, 8), (8, 8, 8)),
        ((1, 1, 1, 4), (4, 1, 4)),
        ((2, 1, 1, 4), (8, 1, 1)),
        ((12, 1, 1, 1), (12, 12, 12)),
        ((16, 1, 1, 1), (16, 1, 1)),
        ((9, 1, 1, 1), (9, 9, 9)),
        ((4, 1, 16, 4), (4, 4, 4)),
        ((2, 1, 4, 2), (2, 2, 2)),
        ((4, 4, 1, 4), (16, 1, 1)),
    ],
)
def test_ranks_are_told_from_degrees(
    given: tuple[int, int, int, int], expected: tuple[int, int, int]
) -> None:
    assert aic._ranks(*given) == expected


@pytest.mark.parametrize(
    ("model", "weights", "expected"),
    [
        ("openai/gpt-oss-20b", "f8", ""),
        ("Qwen/Qwen3-8B", "f8", "f8-block"),
        ("MiniMaxAI/MiniMax-M2", "f8", "f8-block"),
        ("meta/Llama", "f8", "f8"),
        ("deepseek-ai/DeepSeek-R1", "nvfp4", EXPERTS_NVFP4),
        ("deepseek-ai/DeepSeek-R1", "f8", "f8-block"),
        ("Qwen/Qwen3-8B", "nvfp4", "nvfp4"),
        ("deepseek-ai/DeepSeek-R1", "bf16", "bf16"),
    ],
)
def test_weights_are_those_that_were_published(model: str, weights: str, expected: str) -> None:
    assert published(model, weights) == expected


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
    apart = {**AIC, "row_id": "b", "mode": "disagg", "concurrency": None}
    unstated = {
        **apart,
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
        written(tmp_path, aic.AIC, AIC, apart, unstated, block)
    )
    assert (whole.source, whole.name, whole.model) == (aic.AIC, "a", "Qwen/Qwen3-8B")
    assert whole.target == "h200-sxm-141gb"
    assert (whole.runtime, whole.version, whole.weights) == ("trtllm", "1.0.0", "f8-block")
    assert (whole.tensor, whole.expert, whole.attention_data, whole.engines) == (2, 1, 1, 1)
    assert (whole.isl, whole.osl, whole.concurrency, whole.prefill) == (1024, 512, 16, ())
    assert whole.measured == {ServingQuantity.TTFT_S: 0.25, ServingQuantity.TPOT_S: 0.008}
    assert (whole.dataset, whole.is_static, whole.is_eager) == ("", False, False)
    assert (two.tensor, two.engines, two.prefill, two.dataset) == (4, 2, (2, 1, 3), aic.STATED)
    assert two.concurrency == 4, "the batch stated first"
    assert (one.engines, one.prefill, one.dataset) == (1, (2, 1, 1), aic.UNSTATED)
    assert (plain.weights, plain.version, plain.concurrency) == ("bf16", "", 4)
    assert (whole.measured_on, plain.measured_on) == ("2026-03-25", "")
    lone = {**apart, "batch_size": None}
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, lone))
    assert found.concurrency == 10, "five of each of two workers"
    kept = {
        **unstated,
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


def test_one_user_waits_where_an_engine_has_a_seat_less(tmp_path: Path) -> None:
    few = {**AIC, "backend_version": "1.0.0rc3", "model_path": "meta-llama/Llama-3.1-8B"}
    enough = {**few, "model_path": "Qwen/Qwen3-8B"}
    less, all_seated = aic.aic_serving(written(tmp_path, aic.AIC, few, enough))
    assert less.settings.max_num_seqs == less.concurrency - 1
    assert all_seated.settings.max_num_seqs == 0
    # a prompt, a token of each user and room, as its generator tells such servers
    assert less.settings.token_budget == less.isl + less.concurrency + 1500


def test_hosts_launch_kernels_of_prompts_one_by_one_but_for_compiled_engines() -> None:
    assert launch_of(row(runtime="vllm")) == VLLM_LAUNCH_S
    assert launch_of(row(runtime="sglang")) == LAUNCH_S
    alone = row(source=tables.ML_ENERGY, target="b200-sxm-180gb", tensor=1)
    assert launch_of(alone) == SHARED_LAUNCH_S > VLLM_LAUNCH_S
    assert launch_of(replace(alone, tensor=2)) == VLLM_LAUNCH_S
    assert launch_of(replace(alone, source=aic.AIC)) == VLLM_LAUNCH_S
    served = row(source=aic.AIC, runtime="trtllm", version="1.2.0rc6")
    assert launch_of(replace(served, version="1.0.0rc3")) == LAUNCH_S
    assert launch_of(replace(served, prefill=(1, 1, 1))) == LAUNCH_S
    assert launch_of(replace(served, source=tables.TRTLLM, version="0.9.0")) == 0


def test_a_server_has_as_many_seats_as_its_publisher_says() -> None:
    requested = row(source=tables.ML_ENERGY, settings=ServerSettings(max_num_seqs=3000))
    assert engine_of_row(requested).limits(100, 10).max_num_seqs == 3000
    usual = replace(requested, settings=ServerSettings())
    assert engine_of_row(usual).limits(100, 10).max_num_seqs < 3000


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


def test_requests_are_replayed_when_they_were_queued(tmp_path: Path) -> None:
    base = {"device": "RTX4090", "max_num_seqs": 4, "max_num_batched_tokens": 512}
    rows = [
        {
            **base,
            "queued_s": q,
            "input_tokens": 300,
            "output_tokens": 5,
            "first_token_s": q + 0.5,
            "last_token_s": q + 0.9,
        }
        for q in (20.0, 0.0, 10.0)
    ]
    folder = written(tmp_path, "llmservingsim_requests", *rows)
    ttft, tpot, makespan = replays(folder, HostModel())
    assert ttft.measured == pytest.approx(0.5)
    assert tpot.measured == pytest.approx(0.1)
    assert makespan.measured == pytest.approx(20.9)
    # alone each: one step of a prompt, four of a token
    assert makespan.predicted == pytest.approx(20 + ttft.predicted + 4 * tpot.predicted)
    assert 0.01 < tpot.predicted < 0.03
    (late, *_) = replays(folder, HostModel(request_s=1.0))
    assert late.predicted == pytest.approx(ttft.predicted + 1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "vllm"),
        ({"prefill": (1, 1, 1)}, "vllm-apart"),
        ({"runtime": "trtllm", "version": "1.0.2"}, "trtllm 1.0"),
        ({"runtime": "trtllm", "version": "0.9"}, "trtllm"),
        ({"source": tables.ML_ENERGY}, "vllm 0.11"),
        ({"source": tables.ML_ENERGY, "is_eager": True}, "vllm-eager"),
        ({"source": tables.ML_ENERGY, "target": "b200-sxm-180gb", "tensor": 2}, "vllm 0.11"),
        ({"version": "0.11.2"}, "vllm"),
        ({"source": tables.TRTLLM, "version": "v0.12.1@x"}, "vllm-bench 0.12"),
        ({"source": tables.TRTLLM, "version": "post-1.2.3"}, "vllm-bench 1.2"),
        ({"source": tables.TRTLLM, "is_static": True}, "vllm-bench 0.9"),
        ({"source": tables.TRTLLM, "version": "0.9", "model": "Mixtral 8x7B"}, "vllm-bench 0.9"),
        (
            {"source": tables.TRTLLM, "version": "v1.0", "model": "Mixtral 8x7B"},
            "vllm-bench 1.0 experts",
        ),
        ({"model": "Mixtral 8x7B"}, "vllm"),
    ],
)
def test_laws_are_told_apart_by_how_engines_were_driven(
    changed: dict[str, Any], expected: str
) -> None:
    assert law_name(sample(**changed)) == expected
