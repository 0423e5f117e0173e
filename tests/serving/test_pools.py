"""The pool of keys and values: of what each runtime takes its share, and who shares the pool."""

from __future__ import annotations

import pytest

from perfc.errors import ParseError
from perfc.frontend.config import precision_of, read_config
from perfc.machine import CONTEXT_BYTES, Reserve, load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import PoolOf
from perfc.serving.cost.memory import COLLECTIVE_BYTES, GRAPH_BYTES, MemoryDemand, MemoryPlan
from perfc.serving.engine import Engine, kind_of
from perfc.serving.engine_args import read_engine_args
from perfc.serving.output.report import ServingReport
from perfc.serving.service import engine_of, llm

GIB = 1 << 30
LLAMA = "llama-3.1-8b"


def served(model: str = LLAMA, target: str = "h100", **more: object) -> ServingReport:
    load = {"isl": 1000, "osl": 100, "requests": 2, **more}
    return llm(model, target, **load)  # type: ignore[arg-type]


def test_a_share_is_of_what_the_runtime_takes_it_of() -> None:
    demand = MemoryDemand(weight_bytes=40 * GIB, kv_bytes=1.0, activation_bytes=2 * GIB)
    plans = [
        MemoryPlan(80 * GIB, 0.9, demand, overhead_bytes=GIB, pool_of=of)
        for of in (PoolOf.DEVICE, PoolOf.FREE, PoolOf.STATIC)
    ]
    pools = [p.pool_bytes for p in plans]
    assert pools[0] == pytest.approx(0.9 * 80 * GIB - 43 * GIB)
    assert pools[1] == pytest.approx(0.9 * 37 * GIB)
    assert pools[2] == pytest.approx(0.9 * (79 * GIB + GRAPH_BYTES) - 40 * GIB)
    full = MemoryPlan(80 * GIB, 1.0, demand, overhead_bytes=GIB, pool_of=PoolOf.STATIC)
    assert full.pool_bytes == 37 * GIB


def test_the_pool_of_ranks_is_that_of_published_waves() -> None:
    """Sixteen requests of 1,024 tokens ran in two waves on 40 GB, of 512 in one (Argonne)."""
    how = {"target": "a100-sxm4-40gb", "token_budget": 4096, "runtime_version": "0.6"}
    pool = served("llama-2-70b", runtime="vllm", parallel={"tp": 4}, **how).memory
    assert 16 * 512 < pool.kv_tokens < 16 * 1024
    alone = served("llama-2-7b", runtime="vllm", **how).memory
    assert pool.overhead_bytes - alone.overhead_bytes == COLLECTIVE_BYTES


def test_tensorrt_llm_takes_its_share_of_what_weights_leave() -> None:
    """Llama 70B on two H100: 2.4 times the users of vLLM, which takes it of the device."""
    of_rest = served("llama-3.1-70b", runtime="trtllm", parallel={"tp": 2}).memory
    taken = of_rest.weight_bytes + of_rest.activation_bytes + of_rest.overhead_bytes
    assert of_rest.pool_bytes == pytest.approx(0.9 * (of_rest.capacity_bytes - taken))
    assert 52 <= of_rest.largest_concurrency <= 58
    of_device = served("llama-3.1-70b", runtime="vllm", parallel={"tp": 2}).memory
    assert of_rest.largest_concurrency > 2.4 * of_device.largest_concurrency


@pytest.mark.parametrize(
    ("version", "share", "graphs"),
    [("", 0.90, 0), ("0.10", 0.90, 0), ("0.20", 0.92, 1), ("0.25.0", 0.92, 1), ("1.0", 0.92, 1)],
)
def test_the_share_of_vllm_is_that_of_its_version(version: str, share: float, graphs: int) -> None:
    """0.92 of the device with recorded graphs from 0.20 on, before 0.90 without them."""
    rules = kind_of("vllm", version)
    found = served(runtime_version=version).memory
    taken = found.weight_bytes + found.activation_bytes + (rules.context_bytes or 0.0)
    held = (found.pool_bytes + taken + graphs * GRAPH_BYTES) / found.capacity_bytes
    assert held == pytest.approx(share)


@pytest.mark.parametrize(
    ("target", "version", "limits"),
    [
        ("h100", "", (8192, 1024)),
        ("a100", "0.8", (8192, 1024)),
        ("a100", "", (2048, 256)),
        ("l40s", "", (2048, 256)),
        ("rtx4090", "", (2048, 256)),
        ("b200", "0.27", (8192, 1024)),
        ("b200", "0.28", (16384, 1024)),
        ("gb10", "0.32", (8192, 1024)),
        ("gb10", "0.33", (2048, 256)),
    ],
)
def test_vllm_sizes_steps_by_the_memory_of_the_gpu(
    target: str, version: str, limits: tuple[int, int]
) -> None:
    report = served(LLAMA, target, runtime_version=version)
    assert (report.token_budget, report.max_num_seqs) == limits
    given = served(LLAMA, target, runtime_version=version, token_budget=512)
    assert (given.token_budget, given.max_num_seqs) == (512, limits[1])


@pytest.mark.parametrize(
    ("memory_mib", "tokens", "ranks", "share"),
    [
        # (81559 - 512 - 1.5 * 8192 - 2 * 256 - 128) / 81559, as its logs have it
        (81559, 8192, 1, 0.835),
        # sequences of the largest recorded step are 512 from 4 ranks on, and 128 MiB a rank
        (81559, 8192, 8, 0.818),
        # 10 GiB at least above 60 GiB
        (81559, 2048, 1, 0.874),
        (24564, 2048, 1, 0.847),
    ],
)
def test_sglang_leaves_to_steps_what_it_documents(
    memory_mib: float, tokens: int, ranks: int, share: float
) -> None:
    static = kind_of("sglang").static
    assert static is not None
    assert static.share(memory_mib, tokens, ranks) == pytest.approx(share, abs=0.0011)


@pytest.mark.parametrize(
    ("version", "ranks", "share"),
    [
        # server_args.py of each: by ranks; 9.5 GiB and half of one a rank; MiB by sizes of steps
        ("0.4.6", 1, 0.88),
        ("0.4.6", 2, 0.87),
        ("0.4.6", 8, 0.81),
        ("0.5.2", 2, 0.868),
        ("0.5.3", 2, 0.833),
        ("", 2, 0.833),
    ],
)
def test_sglang_has_three_rules_of_its_share(version: str, ranks: int, share: float) -> None:
    static = kind_of("sglang", version).static
    assert static is not None
    assert static.share(81559, 0, ranks) == pytest.approx(share, abs=0.0011)
    h200 = kind_of("sglang", "0.4.6").static
    assert h200 is not None
    assert h200.share(141 * 1024, 0, 1) == pytest.approx(1 - 18 / 141)


def test_sglang_holds_weights_and_pool_in_its_share() -> None:
    found = served(runtime="sglang").memory
    static = kind_of("sglang").static
    assert static is not None
    share = static.share(found.capacity_bytes / (1 << 20), 8192, 1)
    held = (found.pool_bytes + found.weight_bytes) / (found.capacity_bytes - CONTEXT_BYTES)
    assert held == pytest.approx(share)
    stated = served(runtime="sglang", utilization=0.5).memory
    held = (stated.pool_bytes + stated.weight_bytes) / (stated.capacity_bytes - CONTEXT_BYTES)
    assert held == pytest.approx(0.5)


def test_two_rtx_4090_hold_the_tokens_of_the_log() -> None:
    """81,536 tokens in vllm-project/vllm issue 13061, with one sequence of 131,072 positions."""
    found = served("qwen2.5-14b", "rtx4090", parallel={"tp": 2}, utilization=0.98).memory
    assert 0.98 * found.capacity_bytes / GIB == pytest.approx(23.08, abs=0.01)
    assert found.weight_bytes / GIB == pytest.approx(13.9, abs=0.15)


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_stages_of_a_pipeline_share_the_users(stages: int) -> None:
    load = {"isl": 7000, "osl": 200, "concurrency": 4}
    found = served(target="l4", parallel={"pp": stages}, **load).memory
    assert found.largest_concurrency == found.kv_tokens // (7200 // 16 * 16)


@pytest.mark.parametrize("stages", [2, 4])
def test_groups_of_a_pipeline_have_no_more_than_the_pool_together(stages: int) -> None:
    model = read_config(LLAMA)
    precision = precision_of(model.dtype, model.quantization)
    engine = Engine.of(model, load_machine("l4"), precision, Parallel(1, stages), "vllm")
    pool = engine.memory(7000, 200).kv_tokens
    assert engine.limits(7000, 200).kv_tokens * stages <= pool
    # one request is served even if the pool has no room for one of each group
    large = pool // stages * 16 // 10
    assert engine.limits(large, 16).kv_tokens >= large + 16


def test_copies_and_ranks_of_attention_have_pools_of_their_own() -> None:
    one = served().memory.largest_concurrency
    assert served(parallel={"dp": 3}).memory.largest_concurrency == 3 * one


def test_what_is_held_back_leaves_the_pool_less() -> None:
    plain, less = (served(reserve=r).memory for r in ("", "10%"))
    assert less.capacity_bytes == pytest.approx(0.9 * plain.capacity_bytes)
    assert plain.pool_bytes - less.pool_bytes == pytest.approx(0.09 * plain.capacity_bytes)
    assert Reserve.parse("10%").share == 0.1


@pytest.mark.parametrize("context", [1000, 60_000])
def test_scores_of_llamacpp_grow_with_the_context(context: int) -> None:
    """512 tokens by the whole sequence by 32 heads in 32 bits; flash attention has a mask alone."""
    how = {"target": "a6000", "runtime": "llamacpp", "isl": context}
    old, found = (
        served(runtime_version=v, **how).memory.activation_bytes for v in ("b6000", "b6325")
    )
    args = read_engine_args("llama-server -m x.gguf -fa off").options
    assert served(**args, **how).memory.activation_bytes == old
    scores = 512 * (context + 100) * 32 * 4
    assert scores < old < scores + 64 * (1 << 20)
    assert found == pytest.approx(old - scores + 512 * (context + 100) * 2)
    fused = [
        served(target="a6000", isl=n, token_budget=512).memory.activation_bytes
        for n in (1000, 60_000)
    ]
    assert fused[0] == pytest.approx(fused[1], rel=0.01)


def test_weights_in_host_memory_leave_room_and_take_time() -> None:
    """Every step reads 10 GiB over PCIe 4.0, 31.5 GB/s."""
    args = read_engine_args("vllm serve llama-3.1-8b --cpu-offload-gb 10").options
    plain, held = (served(target="rtx4090", **how) for how in ({}, args))
    more = held.memory.pool_bytes - plain.memory.pool_bytes
    assert more == pytest.approx(10 * GIB)
    assert plain.latencies is not None
    assert held.latencies is not None
    each = [r.latencies.itl.mean for r in (held, plain)]
    assert each[0] - each[1] == pytest.approx(10 * GIB / 31.5e9, rel=1e-3)


@pytest.mark.parametrize(("gib", "stages", "read"), [(4.0, 2, 8.0), (40.0, 1, 14.96)])
def test_a_step_reads_what_each_stage_holds_in_host_memory(
    gib: float, stages: int, read: float
) -> None:
    """Stages follow one another, and no rank holds more there than it has (14.96 GiB)."""
    plain, held = (served(parallel={"pp": stages}, **how) for how in ({}, {"cpu_offload_gb": gib}))
    assert plain.latencies is not None
    assert held.latencies is not None
    longer_s = held.latencies.itl.mean - plain.latencies.itl.mean
    assert longer_s == pytest.approx(read * GIB / 63e9, rel=0.01)
    taken = plain.memory.weight_bytes - held.memory.weight_bytes
    assert taken == pytest.approx(read / stages * GIB, rel=0.01)


@pytest.mark.parametrize("host", ["generic-x86-64", "epyc-7742"])
def test_a_host_with_the_cache_attends(host: str) -> None:
    """32 layers of 7,050 tokens, 128 KiB each, at the rate of the host's memory at most."""
    how = {"runtime": "llamacpp", "dtype": "q4_k", "isl": 7000, "target": "rtx4090"}
    args = read_engine_args("llama-server -m llama-3.1-8b -nkvo").options
    plain, there = (served(**how, **more) for more in ({}, {**args, "host_processor": host}))
    memory, usable = there.memory, load_machine(host).level("device").usable_bytes
    scores = 512 * 7100 * 32 * 4
    assert memory.pool_bytes == pytest.approx(usable - scores)
    assert memory.weight_bytes == plain.memory.weight_bytes
    assert memory.activation_bytes < plain.memory.activation_bytes
    assert plain.latencies is not None
    assert there.latencies is not None
    least_s = 7050 * 131_072 / load_machine(host).level("device").bandwidth.value
    on_device_s = 7050 * 131_072 / 1.008e12
    more_s = there.latencies.tpot.mean - plain.latencies.tpot.mean
    assert least_s - 2 * on_device_s < more_s < 16 * least_s
    assert there.latencies.ttft.mean > 10 * plain.latencies.ttft.mean
    assert [s.floor_s for s in there.steps] == [s.floor_s for s in plain.steps]
    assert there.expenses is not None
    assert there.expenses.energy_j_per_token > plain.expenses.energy_j_per_token


def test_a_cache_beyond_the_memory_of_the_host_does_not_fit() -> None:
    """40,000 tokens of 8 KiB × 80 layers are 12 GiB, three of which the host does not have."""
    how = {"runtime": "llamacpp", "target": "h100", "dtype": "q4_k", "kv_offload": False}
    few, many = (served("llama-3.1-70b", isl=n, **how) for n in (30_000, 90_000))
    assert few.fits
    assert not many.fits
    assert served("llama-3.1-70b", isl=90_000, host_processor="epyc-7742", **how).fits


def test_attention_in_parts_of_a_hosted_step_is_that_of_the_host() -> None:
    how = {"runtime": "llamacpp", "target": "rtx4090", "dtype": "q4_k", "has_parts": True}
    parts = [
        {p.what: p.time_s for p in served(kv_offload=there, isl=7000, **how).steps[-1].parts}
        for there in (True, False)
    ]
    assert parts[0]["attention"] < parts[0]["products"]
    assert parts[1]["attention"] > parts[1]["products"]
    assert parts[1]["products"] == pytest.approx(parts[0]["products"], rel=0.1)


@pytest.mark.parametrize(
    ("target", "runtime", "words"),
    [("h100", "vllm", "on its devices"), ("m2-ultra", "llamacpp", "no link to a host")],
)
def test_a_cache_that_cannot_be_on_a_host_is_refused(target: str, runtime: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        served(target=target, runtime=runtime, kv_offload=False)


def test_of_experts_in_host_memory_those_chosen_are_read() -> None:
    """8 of 128 experts a token: of 32 tokens 128 · (1 - (15/16)^32); SGLang copies layers."""
    vllm, sglang, older = (
        engine_of("qwen3-30b-a3b", "rtx4090", {"dtype": "f8", "cpu_offload_gb": 20.0, **more})
        for more in ({}, {"runtime": "sglang"}, {"runtime_version": "0.7"})
    )
    whole_s = 20 * GIB / 31.5e9
    assert (
        sglang.target_cost.offloaded_s(1)
        == older.target_cost.offloaded_s(1)
        == pytest.approx(whole_s)
    )
    experts = 48 * 128 * 3 * 2048 * 768 / vllm.cost.demand(1, 1, 1).weight_bytes
    for tokens in (1, 32, 1 << 14):
        left = (15 / 16) ** tokens
        assert vllm.target_cost.offloaded_s(tokens) == pytest.approx(
            whole_s * (1 - experts * left), rel=0.01
        )


def test_experts_of_some_layers_are_multiplied_by_the_host_or_copied() -> None:
    """8 of 128 experts a token in 24 of 48 layers; few tokens at the host's rate, 0.8 of it."""
    how = {"runtime": "llamacpp", "dtype": "q4_k"}
    plain, half, whole = (
        engine_of("qwen3-30b-a3b", "rtx4090", {**how, **more})
        for more in ({}, {"n_cpu_moe": 24}, {"n_cpu_moe": 99})
    )
    held = [e.memory(1000, 100).demand.weight_bytes for e in (plain, half, whole)]
    experts = held[0] - held[2]
    assert held[0] - held[1] == pytest.approx(experts / 2)
    assert 0.9 < experts / held[0] < 0.98
    assert half.target_cost.offloaded_s(1) == pytest.approx(
        experts / 2 / 16 / (0.8 * 51.2e9), rel=0.01
    )
    chosen = 1 - (15 / 16) ** 512
    assert half.target_cost.offloaded_s(512) == pytest.approx(
        experts / 2 * chosen / 31.5e9, rel=0.01
    )
    with pytest.raises(ParseError, match="has experts on its devices"):
        engine_of("qwen3-30b-a3b", "rtx4090", {"n_cpu_moe": 4})


LOGS = [
    # a page of logs (myoceane.fr, 2026-04): vLLM 0.19 on A100; the tower of Gemma is not counted
    ("gpt-oss-20b", "a100-sxm4-80gb", "vllm 0.19", {"utilization": 0.65}, 36.56),
    ("gemma-4-26b-a4b", "a100-sxm4-80gb", "vllm 0.19", {}, 21.5),
    # vllm-project/vllm: issue 13061, pull requests 10511 and 2031
    ("qwen2.5-14b", "rtx4090", "vllm 0.7", {"parallel": {"tp": 2}, "utilization": 0.98}, 7.47),
    ("llama-3-8b", "h100", "vllm 0.6", {}, 53.29),
    ("llama-3-8b", "h100", "vllm 0.6", {"parallel": {"tp": 2}}, 58.97),
    ("llama-2-7b", "a100-sxm4-80gb", "vllm 0.2", {}, 57.43),
    # reports of vLLM 0.11 and SGLang 0.4.9 (issue 21348), TensorRT-LLM 0.8 (its issue 1400)
    ("gpt-oss-120b", "h100", "vllm 0.11", {"utilization": 0.95, "token_budget": 1024}, 1.71),
    (
        "qwen3-235b-a22b",
        "h100",
        "sglang 0.4.9",
        {"parallel": {"tp": 4}, "dtype": "f8-block", "utilization": 0.93},
        16.46,
    ),
    (
        "llama-2-7b",
        "a100-sxm4-80gb",
        "trtllm 0.8",
        {"dtype": "i8", "kv_dtype": "f16", "token_budget": 4096, "max_num_seqs": 1},
        64.75,
    ),
    # TensorRT-LLM: its issue 6294, docs/reference/memory.md, a report of Kimi K2.5 in NVFP4
    (
        "llama-3.1-8b",
        "h100",
        "trtllm 0.20",
        {"dtype": "fp8", "token_budget": 23552, "max_num_seqs": 4096, "utilization": 0.8},
        52.51,
    ),
    ("llama-2-7b", "h100", "trtllm 0.12", {"dtype": "fp8"}, 63.44),
    ("kimi-k2.5", "b300", "trtllm 1.3", {"dtype": "nvfp4", "parallel": {"tp": 8}}, 166.02),
]
"""Model, target, runtime, options, and GiB of the pool in the log."""


@pytest.mark.parametrize(("model", "target", "runtime", "how", "gib"), LOGS)
def test_pools_are_those_of_logs(
    model: str, target: str, runtime: str, how: dict[str, object], gib: float
) -> None:
    name, version = runtime.split()
    engine = engine_of(model, target, {"runtime": name, "runtime_version": version, **how})
    assert engine.memory(1000, 100).pool_bytes / GIB == pytest.approx(gib, rel=0.08)
