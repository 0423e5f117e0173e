"""Options that publishers gave their servers and benchmarks, and what that changes, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.passes.runtimes import Batching
from perfc.serving.engine import Engine, kind_of
from perfc.serving.host import HostModel
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc_lab.serving import ServedRow, ServerSettings, ServingQuantity, replay, scores
from perfc_lab.serving.checks import _prompt_s
from perfc_lab.serving.inferencex import ServedRun
from perfc_lab.serving.overviews import cache, groups, is_of_nvidia, settings_of
from perfc_lab.serving.settings import cache_of, distinct_prompts, generated, together

ROW = ServedRow(
    "t",
    "one",
    "llama-3.1-8b",
    "h100-sxm5-80gb",
    "trtllm",
    "0.11.0",
    "bf16",
    "",
    1,
    1,
    1,
    1,
    8,
    3,
    0,
    False,
    (),
    False,
    {ServingQuantity.TOKENS_PER_S: 100.0},
)


class Steps:
    """An engine whose steps take a second, of two sequences at most."""

    kind = kind_of("trtllm")
    parallel = Parallel()

    def __init__(self) -> None:
        self.cost = self

    def limits(self, isl: int, osl: int) -> Limits:
        return Limits(max_num_seqs=2, token_budget=64, kv_tokens=4000)

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Any:
        return SimpleNamespace(kernels=1.0, exchanges=0.0)

    def launched(self, parts: Any, chunks: Sequence[Chunk], decodes: int) -> Any:
        return parts


def test_generated_servers_hold_a_prompt_and_room() -> None:
    sglang = generated("sglang", "0.5.6.post2", 4000, 64)
    assert sglang == ServerSettings(token_budget=5500, batching=Batching.WHOLE_PROMPTS)
    assert generated("trtllm", "1.0.0rc3", 1024, 16) == ServerSettings(token_budget=2540)
    assert generated("trtllm", "1.2.0rc6", 1024, 16) == ServerSettings()
    assert generated("vllm", "0.12.0", 1024, 16) == ServerSettings()


def test_a_benchmark_asks_a_hundred_prompts_of_a_server_that_caches_them() -> None:
    assert distinct_prompts("vllm", "0.12.0") == 100
    assert distinct_prompts("vllm", "0.11.0") == distinct_prompts("sglang", "0.12.0") == 0


def test_a_checkpoint_names_the_type_of_its_cache() -> None:
    named = "nvidia/Llama-3.1-8B-Instruct-FP8"
    assert cache_of(named, "vllm") == "f8e4m3"
    assert cache_of(named, "sglang") == ""
    assert cache_of("meta-llama/Llama-3.1-8B-Instruct", "vllm") == ""


def published(
    model: str, runtime: str, system: str, precision: str, isl: int, users: int, groups: int
) -> tuple[ServerSettings, str]:
    """Return the settings of a run of InferenceX, which its lists leave out."""
    run = ServedRun(system, runtime, precision, "0.19.0", "", isl, 1024, users, 8, ())
    return together(model, run, groups)


@pytest.mark.parametrize(("model", "waits"), [("deepseek-r1", 60), ("openai/gpt-oss-120b", 50)])
def test_ranks_with_sequences_of_their_own_wait_for_each_other(model: str, waits: int) -> None:
    setting = model, "trtllm", "b200_sxm", "fp4", 1024, 256
    assert published(*setting, 8)[0].looks_every == waits
    assert published(*setting, 1)[0].looks_every == 0


def test_other_servers_do_not_wait_for_each_other() -> None:
    assert published("deepseek-r1", "sglang", "b200_sxm", "fp8", 1024, 256, 8)[0].looks_every == 0


def test_a_whole_benchmark_counts_the_last_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of("0.11.0", "", 1, 1, 1)[1] == settings_of("0.10.0", "", 1, 1, 1)[1] == 2000
    assert (
        settings_of("0.10.0", "", 1, 1, 1)[0].evicts,
        settings_of("0.11.0", "", 1, 1, 1)[0].evicts,
    ) == (1, 0)
    assert settings_of("0.9.0", "", 1, 128, 128) == (ServerSettings(), 0)
    assert settings_of("v1.0", "", 1, 1, 1) == (ServerSettings(longest=2), 0)
    later = settings_of("post-v1.0@03e27c7d", "", 1, 1024, 8192)
    assert settings_of("v1.0", "", 1, 128, 4096)[1] == later[1] == 1500
    assert later[0].longest == 9216, "an engine is made for the longest request"
    monkeypatch.setattr(replay, "engine_of", lambda *_: Steps())
    (found,) = replay._served(replace(ROW, requests=3), Steps())  # type: ignore[arg-type]
    # two answers of three tokens in three steps, and the third in three more
    assert sum(found.amounts[:3]) == pytest.approx(6.0)
    assert found.value == pytest.approx(3 * 3 / 100)


@pytest.mark.parametrize(
    ("version", "gpus", "lengths", "sizes"),
    [
        ("0.10.0", 8, (2048, 2048), (2048, 2048)),
        ("0.11.0", 8, (2048, 2048), (16384, 8192)),
        ("0.11.0", 8, (128, 2048), (16384, 1024)),
        ("0.11.0", 4, (128, 2048), (8192, 4096)),
        ("0.11.0", 3, (128, 2048), (2048, 2048)),
    ],
)
def test_engines_of_an_overview_have_the_sizes_that_its_page_states(
    version: str, gpus: int, lengths: tuple[int, int], sizes: tuple[int, int]
) -> None:
    settings, _ = settings_of(version, "LLaMA v2 70B", gpus, *lengths)
    assert (settings.token_budget, settings.max_num_seqs) == sizes
    assert settings.batching is Batching.MIXED


def test_engines_side_by_side_share_the_requests_of_a_benchmark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "engine_of", lambda *_: Steps())
    row = replace(ROW, requests=6, tensor=1, expert=2, attention_data=2)
    (found,) = replay._served(row, Steps())  # type: ignore[arg-type]
    assert sum(found.amounts[:3]) == pytest.approx(6.0)
    assert found.value == pytest.approx(6 * 3 / 100)


def test_experts_of_the_overview_of_1_0_have_attention_of_each_gpu() -> None:
    assert groups("v1.0", "Llama 4 Maverick", 8, 0) == 8
    assert groups("v1.0", "Llama 3.1 8B", 2, 0) == 1
    assert groups("0.11.0", "Mixtral 8x7B", 2, 0) == 1
    assert groups("post-v1.0@03e27c7d", "Qwen3-235B-A22B", 1, 4) == 4


def test_checkpoints_of_overviews() -> None:
    assert is_of_nvidia("Qwen3-235B-A22B")
    assert not is_of_nvidia("DeepSeek R1")
    options = [cache("GPT-OSS 120B", "fp4", gpu) for gpu in ("h200", "gb200")]
    assert options == ["", "f8e4m3"]
    assert [cache("Llama 3.1 8B", p, "h100") for p in ("fp16", "fp8")] == ["", "f8e4m3"]


def test_a_model_unseen_is_as_far_off_as_the_farthest_one() -> None:
    near = [("near", math.exp(0.1 * sign)) for sign in (-1, 1) for _ in range(4)]
    far = [("far", math.exp(v)) for v in (-0.3, 0.5) for _ in range(4)]
    low, high = scores.edges_of_unseen([*near, *far])
    # middles are 0 and 0.1: from 0.05 the far one reaches 0.45 up and 0.35 down
    assert (low, high) == (pytest.approx(math.exp(-0.4)), pytest.approx(math.exp(0.5)))
    few = [("few", 50.0)]
    assert scores.edges_of_unseen([*near, *far, *few]) == (low, high), "a row is no model"
    assert scores.edges_of_unseen(far) == scores.edges([r for _, r in far]), "one model alone"
    # of twenty models the nineteenth is taken, as one in ten may be farther
    many = [(str(i), math.exp(sign * 0.01 * (i + 1))) for i in range(20) for sign in (-1, 1) * 4]
    assert scores.edges_of_unseen(many)[1] == pytest.approx(math.exp(0.19))


def test_small_kernels_of_llama_cpp_take_their_gaps() -> None:
    model, machine = read_config("llama-3-8b"), load_machine("a100-sxm4-80gb")

    def step_s(weights: str, cards: int = 1, **stated: Any) -> float:
        precision = precision_of("float16", None, weights)
        engine = Engine.of(
            model, machine, precision, Parallel(1, cards), "llamacpp", law=HostModel(), **stated
        )
        return engine.cost.step_s((), 1, 512)

    gap_s = machine.device("launch_graph_s")
    assert gap_s is not None
    bare = {"minor_kernels": 0, "minor_kernels_quantized": 0}
    wide, narrow = (step_s(w) - step_s(w, **bare) for w in ("f16", "i4"))
    assert wide == pytest.approx(9 * 32 * gap_s.value)
    assert narrow == pytest.approx(16 * 32 * gap_s.value)
    # no graphs over several cards: the host launches each
    apart = step_s("i4", 4) - step_s("i4", 4, **bare)
    assert apart > narrow


def test_batches_of_a_prompt_follow_each_other_over_cards() -> None:
    model, machine = read_config("llama-3-8b"), load_machine("rtx4090")
    precision = precision_of("float16", None, "f16")
    one, four = (
        Engine.of(model, machine, precision, Parallel(1, n), "llamacpp", law=HostModel())
        for n in (1, 4)
    )
    # two batches through four quarters: five quarters of a batch, not eight
    assert _prompt_s(four) / _prompt_s(one) == pytest.approx(5 / 8, rel=0.1)
