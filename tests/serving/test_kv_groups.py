"""Parameters, longest context and the size of the cache as vLLM prints it."""

from __future__ import annotations

import pytest

import perfc
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc.serving.cost.kv_groups import groups_of


def test_groups_have_the_size_of_the_smallest_kind_unless_kinds_are_similar() -> None:
    assert groups_of([12, 12]) == 12
    assert groups_of([10, 52]) == 10
    # one padded group each, not three of one layer and a rest
    assert groups_of([12, 14]) == 14


@pytest.mark.parametrize(
    ("name", "layers"), [("gpt-oss-20b", 24), ("gemma-3-27b", 70), ("llama-3.2-1b", 0)]
)
def test_hybrid_caches_are_printed_as_vllm_does(name: str, layers: int) -> None:
    memory = perfc.llm(name, "h200", isl=128, osl=8).memory
    if not layers:
        assert memory.vllm_kv_tokens is None
        return
    # each layer, padding included, counts as one that keeps all tokens
    heads = {"gpt-oss-20b": 8 * 64, "gemma-3-27b": 16 * 128}[name]
    each = layers * 2 * heads * 2
    assert memory.vllm_kv_tokens == pytest.approx(memory.pool_bytes / each, rel=1e-4)
    assert memory.vllm_kv_tokens < memory.kv_tokens
    assert perfc.llm(name, "h200", runtime="sglang", isl=128, osl=8).memory.vllm_kv_tokens is None


def test_a_step_holds_a_video_of_gemma_4_whole() -> None:
    """A log of vLLM 0.21 has about 525,000 tokens; 2,048 a step are refused, later raised."""
    a100, h100 = (
        [perfc.llm("gemma-4-31b", t, dtype="i4", runtime_version=v, isl=128, osl=8) for v in vs]
        for t, vs in (("a100", ("0.19", "0.21", "0.22")), ("h100", ("0.21",)))
    )
    assert [r.token_budget for r in a100] == [2048, 8192, 2496]
    assert a100[1].memory.vllm_kv_tokens == pytest.approx(525_000, rel=0.02)
    started = [any("2,496" in note for note in r.notes) for r in (*a100, *h100)]
    assert started == [False, True, False, False]


def test_a_report_has_the_parameters_and_the_longest_context() -> None:
    report = perfc.llm("qwen3-30b-a3b", "h200", isl=128, osl=8)
    counts = parameters(read_config("qwen3-30b-a3b"))
    assert (report.parameters, report.active_parameters) == (counts.resident, counts.active)
    assert report.memory.largest_context == 40_960
    small = perfc.llm("llama-3.1-8b", "rtx4090", isl=128, osl=8).memory
    assert 0 < small.largest_context < 131_072
    assert small.largest_context <= small.kv_tokens
    assert perfc.llm("llama-3.1-8b", "rtx4090", isl=small.largest_context - 8, osl=8).fits
    longer = perfc.llm("llama-3.1-8b", "rtx4090", isl=small.largest_context + 24, osl=8)
    assert not longer.fits
