"""Rows of served models: how tables are read and which settings they mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfc.frontend.config import Parallel, WeightFormat
from perfc.serving.host import HostModel
from perfc.serving.simulation.scheduler import Limits
from perfc_lab.serving import (
    ServerSettings,
    aic,
    replay,
    tables,
)
from perfc_lab.serving.checks import replays
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
from .test_served_tables import AIC, written


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
