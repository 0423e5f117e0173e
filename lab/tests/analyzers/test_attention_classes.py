"""What the attention classes count, and what their source makes of its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.analyzers.features import physics
from perfc.analyzers.features.classes.attention import START_S, AttentionKernel, key_s
from perfc.analyzers.features.classes.attention_prefill import pairs
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import load_machine

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Amounts, Columns

small = st.integers(1, 24)


def rows(name: str, **given_: float) -> Columns:
    """One kernel."""
    return complete(class_of(name), {n: np.array([float(v)]) for n, v in given_.items()})


def counted(name: str, dtype: str = "bf16", **given_: float) -> Amounts:
    """What one kernel does."""
    return class_of(name).amounts(rows(name, **given_), dtype)


def prefill(dtype: str = "bf16", **changes: float) -> Amounts:
    """A prompt of 64 tokens, eight heads on two."""
    shape = {"batch": 2, "query_len": 64, "kv_len": 64, "heads": 8, "kv_heads": 2, "head_dim": 128}
    return counted("attention_prefill", dtype, **{**shape, **changes})


def decode(dtype: str = "bf16", **changes: float) -> Amounts:
    """One token after 999."""
    shape = {"batch": 2, "cached_len": 999, "heads": 8, "kv_heads": 2, "head_dim": 128}
    return counted("attention_decode", dtype, **{**shape, **changes})


@given(small, st.integers(0, 24), st.integers(0, 24))
def test_causal_pairs_are_those_a_loop_counts(queries: int, cached: int, window: int) -> None:
    seen = sum(min(cached + i + 1, window) if window else cached + i + 1 for i in range(queries))
    found = pairs(
        rows(
            "attention_prefill",
            batch=1,
            query_len=queries,
            kv_len=queries + cached,
            heads=1,
            kv_heads=1,
            head_dim=1,
            window=window,
        )
    )
    assert found[0] == seen


def test_an_encoder_counts_all_pairs_and_a_prompt_its_triangle() -> None:
    assert prefill(causal=0).mac[0] == 2 * 8 * 64 * 64 * 256
    assert prefill().mac[0] == 2 * 8 * (64 * 65 // 2) * 256


def test_keys_may_be_fewer_than_queries_where_nothing_is_masked() -> None:
    assert prefill(causal=0, kv_len=16).mac[0] == 2 * 8 * 64 * 16 * 256


def test_values_may_be_narrower_than_keys() -> None:
    assert prefill(value_dim=64).mac[0] == prefill().mac[0] * 3 / 4


def test_decoding_reads_the_cache_once_a_kv_head_however_many_queries_share_it() -> None:
    cache = 2 * 2 * 1000 * 256 * 2
    assert decode().read_bytes[0] == cache + 2 * 8 * 128 * 2
    assert decode(heads=64).read_bytes[0] == cache + 2 * 64 * 128 * 2


def test_a_cache_of_eight_bits_is_half_the_traffic_and_the_products_stay() -> None:
    queries = 2 * 8 * 128 * 2
    narrow = decode(cache_bits=8)
    assert narrow.read_bytes[0] - queries == (decode().read_bytes[0] - queries) / 2
    assert narrow.mac[0] == decode().mac[0]


def test_a_window_limits_what_decoding_reads() -> None:
    assert decode(window=100).mac[0] == decode(cached_len=99).mac[0]
    assert decode(window=5000).mac[0] == decode().mac[0]


@pytest.mark.parametrize(("window", "is_seen"), [(1001, False), (1000, True), (100, True)])
def test_a_window_is_a_feature_only_where_it_hides_tokens(window: int, is_seen: bool) -> None:
    kind = class_of("attention_decode")
    shape = {"batch": 2, "cached_len": 1000, "heads": 8, "kv_heads": 2, "head_dim": 128}
    own, none = (
        kind.features(rows("attention_decode", **shape, window=w), "bf16", H100)
        for w in (window, 0)
    )
    assert (own["log_window"] != none["log_window"]).all() == is_seen


def test_a_cache_of_eight_bits_lowers_the_floor_of_products() -> None:
    assert prefill(cache_bits=8).floor_mac[0] == prefill().floor_mac[0] / 2
    assert prefill("f8e4m3", cache_bits=8).floor_mac[0] == prefill().mac[0]


@pytest.mark.parametrize("target", ["a100", "h100", "b200", "l40s", "arc-pro-b60", "t4"])
@pytest.mark.parametrize("name", ["attention_prefill", "attention_decode"])
def test_the_scale_is_never_below_the_floor(name: str, target: str) -> None:
    kind, sheet = class_of(name), Sheet(load_machine(target))
    shape = {"batch": 8, "heads": 32, "kv_heads": 8, "head_dim": 128}
    lengths = {"query_len": 4096, "kv_len": 4096} if "prefill" in name else {"cached_len": 65536}
    one = rows(name, **shape, **lengths)
    scale = kind.scale_s(one, "bf16", sheet, Protocol.GRAPH)
    floor = kind.floor_s(one, "bf16", sheet)
    assert 0 < floor[0] <= 1.3 * scale[0]
    features = kind.features(one, "bf16", sheet)
    assert all(np.isfinite(column).all() for column in features.values())


H100 = Sheet(load_machine("h100"))


def seconds(protocol: Protocol = Protocol.KERNELS, **changes: float) -> float:
    """What physics gives a chunk of one prompt."""
    shape = {
        "batch": 1,
        "query_len": 64,
        "kv_len": 8192,
        "heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
    }
    kind, one = class_of("attention_prefill"), rows("attention_prefill", **{**shape, **changes})
    return float(kind.scale_s(one, "bf16", H100, protocol)[0])


def test_blocks_of_one_head_walk_all_keys_however_few_their_queries() -> None:
    shape = rows(
        "attention_prefill", batch=1, query_len=64, kv_len=8192, heads=32, kv_heads=8, head_dim=128
    )
    walk_s = 8192 * key_s(shape, "bf16", H100)[0]
    assert seconds() == pytest.approx(walk_s + physics.GRAPH_LATENCY_S)
    assert seconds(query_len=16) == seconds(), "a block computes its whole tile"
    assert seconds(kv_heads=32) == seconds(), "heads that share keys share no block"
    assert seconds(window=4096) == pytest.approx((seconds() + physics.GRAPH_LATENCY_S) / 2)
    # a recorded graph has no pages: rows of the heads that share keys are one block
    graph = [seconds(Protocol.GRAPH, query_len=n) for n in (16, 32)]
    assert graph[0] < graph[1] < seconds()


def test_blocks_of_one_head_run_in_waves() -> None:
    bare = seconds() - physics.GRAPH_LATENCY_S
    # 128 blocks fill one wave of 132, 160 take two; their mean walk is a little shorter
    one, two = (seconds(query_len=n) - physics.GRAPH_LATENCY_S for n in (256, 320))
    assert one == bare
    assert two == pytest.approx(2 * bare, rel=0.03)


def test_a_profiled_cache_lies_in_device_memory() -> None:
    kind = class_of("attention_prefill")
    one = rows(
        "attention_prefill", batch=8, query_len=1, kv_len=1024, heads=8, kv_heads=8, head_dim=128
    )
    profiled, replayed = (
        kind.scale_s(one, "bf16", H100, p)[0] for p in (Protocol.KERNELS, Protocol.GRAPH)
    )
    nbytes = 8 * 8 * 1024 * 256 * 2
    assert profiled > START_S + physics.GRAPH_LATENCY_S + nbytes / H100.device_bytes_per_s
    assert replayed < profiled, "L2 holds it where one call is repeated"


def written(folder: Path) -> None:
    """The three tables with a few rows."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    one = {
        "device": "NVIDIA H200",
        "framework": "sglang",
        "version": "0.5.14",
        "kernel_source": "fa3",
        "attn_dtype": "bfloat16",
        "kv_cache_dtype": "fp8",
        "batch_size": 2,
        "input_len": 32,
        "kv_step": 0,
        "num_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 192,
        "window_size": 0,
        "latency_us": 10.0,
        "power_w": float("nan"),
    }
    vllm = {**one, "framework": "vllm", "kernel_source": "vllm_flash_attn", "head_dim": 128}
    context = [one, {**vllm, "version": "0.22.0"}, {**vllm, "version": "0.24.0"}]
    token = {**one, "input_len": 1, "kv_step": 100}
    fits, binds = ({**token, "window_size": n, "suspect": False} for n in (101, 100))
    generation = [{**token, "suspect": False}, {**token, "suspect": True}, fits, binds]
    tables = {"context": context, "generation": generation, "encoder": [vllm]}
    for name, table in tables.items():
        pd.DataFrame(table).to_parquet(folder / f"aic_attention_{name}.parquet")


def test_the_source_names_old_versions_and_drops_suspect_rows(tmp_path: Path) -> None:
    from perfc_lab.tables.aic_attention import AicAttention

    written(tmp_path)
    blocks = list(AicAttention().rows(tmp_path))
    assert [b.framework for b in blocks] == ["sglang", "vllm-0.22.0", "vllm", "sglang", "vllm"]
    assert [len(b) for b in blocks] == [1, 1, 1, 2, 1]
    assert {b.class_name for b in blocks} == {"attention_prefill", "attention_decode"}
    first, old, _, token, encoder = blocks
    assert first.columns["value_dim"][0] == 128
    assert first.columns["cache_bits"][0] == 8
    assert old.columns["value_dim"][0] == 0
    assert old.columns["kernel"][0] == AttentionKernel.FLASH_3
    assert token.columns["cached_len"][0] == 100
    assert token.columns["window"].tolist() == [0, 100], "a window that holds every token is none"
    assert encoder.columns["causal"][0] == 0
    assert encoder.columns["kv_heads"][0] == 8
    assert first.time_s[0] == pytest.approx(1e-5)


def test_profiles_of_steps_give_prompts_after_cached_tokens_and_steps_of_both(
    tmp_path: Path,
) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from perfc_lab.tables.llmservingsim import LlmServingSimAttention

    new = {
        "device": "RTX4090",
        "model": "meta-llama/Llama-3.1-8B",
        "tensor_parallel": 2,
        "profiler": "v1_vllm0.19",
        "prefill_chunk": 128,
        "kv_prefill": 512,
        "n_decode": 0,
        "kv_decode": 0,
        "latency_us": 20.0,
    }
    token = {**new, "prefill_chunk": 0, "kv_prefill": 0, "n_decode": 8, "kv_decode": 256}
    mixed = {**new, "n_decode": 8, "kv_decode": 256}
    old = {**new, "device": "A6000", "profiler": "v0_torch_profiler", "n_decode": None}
    table = pd.DataFrame([new, token, mixed, old])
    table["n_decode"] = table["n_decode"].astype("Int32")
    table.to_parquet(tmp_path / "llmservingsim_attention.parquet")
    found = {(b.class_name, b.target): b for b in LlmServingSimAttention().rows(tmp_path)}
    assert {len(b) for b in found.values()} == {1}
    prompt = found["attention_prefill", "rtx4090"].columns
    assert (prompt["heads"][0], prompt["kv_heads"][0]) == (16, 4)
    assert (prompt["query_len"][0], prompt["kv_len"][0]) == (128, 640)
    assert found["attention_prefill", "rtx-a6000"].columns["kv_len"][0] == 512
    decoded = found["attention_decode", "rtx4090"].columns
    assert (decoded["batch"][0], decoded["cached_len"][0]) == (8, 256)
    both = found["mixed_attention", "rtx4090"].columns
    assert (both["query_len"][0], both["kv_len"][0]) == (128, 640)
    assert (both["decodes"][0], both["cached_len"][0]) == (8, 256)
    assert len(found) == 4
