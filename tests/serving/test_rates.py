"""Kernels of older engines and other vendors' GPUs do not exceed their fitted rates."""

from __future__ import annotations

import pytest

import perfc
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc.serving.cost.rates import ANY, rates_of
from perfc.serving.engine import Engine
from perfc.serving.host import HostModel, host_model_of, named_host_model
from perfc.serving.simulation.scheduler import Chunk


def engine(
    config: str, target: str, runtime: str, version: str = "", parallel: Parallel = ALONE
) -> Engine:
    precision = precision_of("float16", None, "f16")
    return Engine.of(
        read_config(config),
        load_machine(target),
        precision,
        parallel,
        runtime,
        version,
        law=HostModel(),
    )


@pytest.mark.parametrize(
    ("runtime", "version", "target"),
    [
        ("vllm", "", "mi300x"),
        ("vllm", "0.7", "mi300x"),
        ("vllm", "0.6", "h100"),
        ("sglang", "0.4", "mi300x"),
    ],
)
def test_engines_that_no_slow_kernel_was_measured_of(
    runtime: str, version: str, target: str
) -> None:
    assert rates_of(runtime, version, load_machine(target), 4096) is ANY


def test_a_longer_model_leaves_room_for_fewer_workgroups() -> None:
    """Scores of the longest sequence stay in shared memory: 64 KiB hold 4 of 4,096 tokens."""
    machine = load_machine("mi300x")
    short, long, longest = (
        rates_of("vllm", "0.6.1", machine, n).paged_elements for n in (4096, 8192, 32768)
    )
    assert short == 2 * long
    assert longest == long


def test_old_kernels_on_amd_are_slower_the_more_tokens() -> None:
    old, new = (engine("llama-3-8b", "mi300x", "vllm", v).cost for v in ("0.6", ""))
    few, many = (old.step_s((), n, 128) / new.step_s((), n, 128) for n in (4, 128))
    assert 1 <= few < 2 < many


def test_a_context_that_is_not_split_takes_longer() -> None:
    """Beyond 512 sequences times heads a workgroup reads a whole context: 32 heads, 16 to 32."""
    cost = engine("llama-3-8b", "mi300x", "vllm", "0.6").cost

    def context_s(sequences: int) -> float:
        return (cost.step_s((), sequences, 4096) - cost.step_s((), sequences, 128)) / sequences

    assert context_s(32) > 2 * context_s(16)


def test_llama_cpp_decodes_by_multiprocessors_where_memory_is_faster() -> None:
    """GPU-Benchmarks-on-LLM-Inference: 53.2 tokens a second on A100 of 80 GB, 67.8 on H100 PCIe."""
    a100, larger, h100 = (
        1 / engine("llama-3-8b", t, "llamacpp").cost.step_s((), 1, 512)
        for t in ("a100-sxm4-40gb", "a100-sxm4-80gb", "h100-pcie-80gb")
    )
    assert larger == pytest.approx(a100, rel=0.05)
    assert larger == pytest.approx(53.2, rel=0.12)
    assert h100 == pytest.approx(67.8, rel=0.12)


@pytest.mark.parametrize(("weights", "tokens_per_s"), [("q4_0", 21.24), ("q8_0", 12.28)])
def test_metal_reads_weights_at_a_share_of_the_bandwidth(weights: str, tokens_per_s: float) -> None:
    """Pull request 10491 of llama.cpp: llama-bench on M1 Pro, whose kernels set no constant."""
    report = perfc.llm(
        "llama-2-13b", "m1-pro", runtime="llamacpp", dtype=weights, isl=16, osl=8, concurrency=1
    )
    assert report.latencies is not None
    assert report.latencies.tpot is not None
    assert 1 / report.latencies.tpot.mean == pytest.approx(tokens_per_s, rel=0.1)


@pytest.mark.parametrize(("target", "tokens_per_s"), [("m1-max", 34.49), ("m2-ultra", 76.28)])
def test_metal_unpacks_k_quants_by_cores(target: str, tokens_per_s: float) -> None:
    """Llama 3 8B in Q4_K_M by llama-bench, rows that the constant was chosen on."""
    load = {"runtime": "llamacpp", "isl": 16, "osl": 1024, "concurrency": 1}
    report = perfc.llm("llama-3-8b", target, dtype="q4_k_m", **load)
    assert report.latencies is not None
    assert report.latencies.tpot is not None
    assert 1 / report.latencies.tpot.mean == pytest.approx(tokens_per_s, rel=0.1)


def test_a_chunk_of_one_token_takes_what_a_decode_does() -> None:
    cost = engine("llama-2-7b", "a100-sxm4-40gb", "llamacpp").cost
    assert cost.step_s((Chunk(1, 600),), 0, 0.0) == cost.step_s((), 1, 600)


def test_later_chunks_of_a_prompt_overlap_over_gpus() -> None:
    cost = engine("llama-2-7b", "a100-sxm4-40gb", "llamacpp", parallel=Parallel(1, 2)).cost
    first, later = (cost.step_s((Chunk(64, n),), 0, 0.0) for n in (0, 64))
    assert later == pytest.approx(first / 2, rel=0.1)


def test_amd_has_host_models_of_its_own() -> None:
    name, law = named_host_model("vllm", "0.6", "AMD", has_experts=False)
    assert name.startswith("vllm-rocm")
    assert law != named_host_model("vllm", "0.6", "NVIDIA", has_experts=False)[1]
    assert host_model_of("llamacpp", "", "AMD") != host_model_of("llamacpp", "", "NVIDIA")
    assert host_model_of("vllm", "", "AMD") == host_model_of("vllm"), "no server was measured"


def test_an_offline_batch_on_amd_is_of_the_newest_version_unless_an_older_one_is_named() -> None:
    options = {"isl": 128, "osl": 128, "concurrency": 32, "offline": True}
    usual = perfc.llm("llama-2-7b", "mi300x", **options)
    older = perfc.llm("llama-2-7b", "mi300x", runtime_version="0.6", **options)
    assert usual.version == perfc.llm("llama-2-7b", "mi300x").version
    assert usual.batch is not None
    assert older.batch is not None
    assert usual.batch.time_s < older.batch.time_s / 2, "kernels of 0.6 were slow"


def test_a_step_of_one_sequence_takes_no_longer_than_one_of_two() -> None:
    options = {"dtype": "fp8", "parallel": {"tp": 8}, "isl": 1024, "osl": 128}
    one, two = (
        perfc.llm("qwen2.5-32b", "h100-pcie", concurrency=users, **options).latencies  # type: ignore[arg-type]
        for users in (1, 2)
    )
    assert one is not None
    assert one.tpot is not None
    assert two is not None
    assert two.tpot is not None
    assert one.tpot.mean <= two.tpot.mean
