"""Memory as serving engines lay it out, by their rules and logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc.frontend.config import precision_of, read_config
from perfc.frontend.config.facts import weight_bytes
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import EngineKind
from perfc.serving.output.report import ServingMemory
from perfc.serving.service import llm

GIB = 1 << 30
NANO = {
    "architectures": ["NemotronHForCausalLM"],
    "model_type": "nemotron_h",
    "vocab_size": 131072,
    "hidden_size": 4480,
    "intermediate_size": 15680,
    "num_hidden_layers": 56,
    "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
    "num_attention_heads": 40,
    "head_dim": 128,
    "num_key_value_heads": 8,
    "mlp_hidden_act": "relu2",
    "mamba_num_heads": 128,
    "mamba_head_dim": 80,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
    "expand": 2,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def memory_of(model: str, target: str, **options: object) -> ServingMemory:
    load = {"isl": 1000, "osl": 100, "requests": 2, **options}
    return llm(model, target, **load).memory  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "ranks", "gib"),
    [
        # published files: fp8 in blocks of 128 x 128, experts in int4 by 32, fp8 by tensor
        ("deepseek-v3", 8, 80.0),
        ("deepseek-v3.2", 8, 80.3),
        ("kimi-k2.5", 4, 139),
        ("minimax-m2", 4, 53.6),
        ("ministral-3-8b", 1, 9.0),
        ("gpt-oss-120b", 1, 60.8),
    ],
)
def test_weights_have_their_published_format(name: str, ranks: int, gib: float) -> None:
    model = read_config(name)
    precision = precision_of(model.dtype, model.quantization)
    found = weight_bytes(model, precision, Parallel(ranks))
    assert found / GIB == pytest.approx(gib, rel=0.01)


@pytest.mark.parametrize(
    ("name", "target", "longest"),
    [("gemma-4-31b", "a100", 262_144), ("gemma-3-27b", "rtx5090", 131_072)],
)
def test_windows_hold_their_length_whatever_the_load(name: str, target: str, longest: int) -> None:
    found = {memory_of(name, target, dtype="i4", isl=n).largest_context for n in (100, 8000)}
    assert found == {longest}


@pytest.mark.parametrize(
    ("version", "tokens"), [("0.20", 57_008), ("0.21", 612_089), ("0.21 8192", 505_994)]
)
def test_vllm_prints_its_cache_by_version(version: str, tokens: int) -> None:
    """Gemma 4 31B with a pool of 52.2 GiB: 21,381 blocks of 256 KiB for ten layers."""
    from perfc.serving.cost.kv_groups import vllm_kv_tokens
    from perfc.serving.service import engine_of

    release, _, budget = version.partition(" ")
    options = {"runtime_version": release, "token_budget": int(budget or 2048)}
    engine = engine_of("gemma-4-31b", "a100", options)
    found = vllm_kv_tokens(engine, 52.2 * GIB, 262_144)
    assert found == pytest.approx(tokens, rel=1e-3)


@pytest.mark.parametrize(("share", "gib"), [(0.9, -2.14), (0.95, 1.71)])
def test_experts_of_four_bits_are_padded_and_the_sampler_profiled(share: float, gib: float) -> None:
    """gpt-oss-120b under vLLM 0.11 on H100, vllm-project/vllm issue 27508."""
    how = {"runtime_version": "0.11", "utilization": share, "token_budget": 1024}
    found = memory_of("gpt-oss-120b", "h100", **how)
    assert found.weight_bytes / GIB == pytest.approx(65.97, abs=0.1)
    assert found.pool_bytes / GIB == pytest.approx(gib, abs=0.15)


@pytest.mark.parametrize(
    ("name", "ranks", "nbytes"), [("deepseek-v3.2", 8, 61 * 788), ("glm-5", 8, 78 * 788)]
)
def test_eight_bits_of_sparse_latents_have_scales(name: str, ranks: int, nbytes: int) -> None:
    """656 bytes of latents and 132 of the indexer in each layer, whatever is chosen of them."""
    how = {"parallel": {"tp": ranks}, "dtype": "f8-block", "kv_dtype": "fp8"}
    for isl in (1000, 9000):
        assert memory_of(name, "b300", isl=isl, **how).kv_bytes_per_token == nbytes


@pytest.mark.parametrize(
    ("cache", "kib"), [("", 128.0), ("fp8", 64.0), ("nvfp4", 36.0), ("q8_0", 68.0), ("q4_0", 36.0)]
)
def test_caches_in_blocks_have_scales(cache: str, kib: float) -> None:
    found = memory_of("llama-3.1-8b", "b200", kv_dtype=cache)
    assert found.kv_bytes_per_token == kib * 1024


def test_states_have_the_type_of_version_and_configuration(tmp_path: Path) -> None:
    """27 layers of 2.70 MB in 16 bits; 145 MB in all from 0.13 on, as the family's rule says."""

    def users(version: str, **keys: str) -> int:
        (tmp_path / "config.json").write_text(json.dumps({**NANO, **keys}))
        how = {"runtime_version": version, "isl": 200, "osl": 50}
        return memory_of(str(tmp_path), "h100", **how).largest_concurrency

    assert users("0.12") == pytest.approx(700, rel=0.03)
    assert users("0.13") == pytest.approx(users("0.12") / 1.9, rel=0.03)
    assert users("0.13", mamba_ssm_cache_dtype="bfloat16") == users("0.12")
    falcon = memory_of("falcon-mamba-7b", "h100", isl=200, osl=50)
    assert falcon.largest_concurrency == pytest.approx(3020, rel=0.02)


def test_drafts_keep_a_state_for_each_token() -> None:
    how = {"isl": 1800, "osl": 248, "draft_tokens": 3, "acceptance": 0.7, "draft": "qwen3-0.6b"}
    found = memory_of("qwen3.5-27b", "b300", **how)
    assert found.largest_concurrency == pytest.approx(205, rel=0.03)
    aligned = memory_of("qwen3.5-27b", "b300", runtime_version="0.26", **how)
    assert aligned.largest_concurrency < found.largest_concurrency


def test_rules_of_a_version_hold_until_the_next() -> None:
    assert EngineKind.of("vllm", "0.19") == EngineKind.of("vllm")
    assert EngineKind.of("vllm", "0.33").small == ["a100", "gb10"]
    assert llm("llama-3.1-8b", "h100", isl=64, osl=8).version == "0.19"
