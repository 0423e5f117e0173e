"""Tables of linear layers and products become rows of the classes that know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.analyzers.estimators import predictor
from perfc.analyzers.estimators.selection import computed, inside
from perfc.analyzers.features.lowering import Lowered
from perfc.analyzers.features.rows import Protocol
from perfc.machine import load_machine
from perfc.passes.runtimes import LaunchMode
from perfc_lab.tables import sources
from perfc_lab.tables.llmservingsim import MODELS, width_and_depth

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_layers_of_a_shard_have_its_extents(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "device": "RTX4090",
            "model": "meta-llama/Llama-3.1-8B",
            "tensor_parallel": 2,
            "profiler": "v1_vllm0.19",
            "layer": ["qkv_proj", "o_proj", "lm_head", "rope", "down_proj", "down_proj"],
            "x": [1, 2, 3, 4, 1024, 1027],
            "latency_us": [5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        }
    )
    frame.to_parquet(tmp_path / "llmservingsim_layers.parquet")
    (rows,) = sources()["llmservingsim_layers"].rows(tmp_path)
    assert set(rows.columns["in_block"]) == {0.0, 1.0}, "the head is outside of all blocks"
    assert (rows.class_name, rows.target, rows.protocol) == ("matmul", "rtx4090", Protocol.KERNELS)
    found = sorted(zip(*(rows.columns[n] for n in "mnk"), rows.time_s * 1e6, strict=True))
    assert found == [
        (1, 3072, 4096, pytest.approx(5)),
        (2, 4096, 2048, pytest.approx(6)),
        (3, 64128, 4096, pytest.approx(7)),
        (1024, 4096, 7168, pytest.approx(9)),
    ]


def test_experts_of_shards_are_left_out() -> None:
    own = MODELS["mistralai/Mixtral-8x7B-v0.1"]
    assert width_and_depth(own, "expert.w2", 1) == (4096, 14336)
    assert width_and_depth(own, "expert.w2", 2) is None
    assert width_and_depth(own, "act_fn", 1) is None


def test_linear_layers_of_a_profile_are_products(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "device": ["a40", "a40", "h100"],
            "op": ["mlp_up_proj", "add", "mlp_up_proj"],
            "gemm_m": [8.0, None, 16.0],
            "gemm_n": [64.0, None, 64.0],
            "gemm_k": [32.0, None, 32.0],
            "latency_median_us": [3.0, 4.0, 5.0],
            "model": "meta-llama/Meta-Llama-3-8B",
            "num_tokens": [8, 8, 16],
            "tensor_parallel": 1,
            "n_head": 4,
            "n_kv_head": 2,
            "n_embd": 32,
            "n_expanded_embd": 32,
            "use_gated_mlp": True,
        }
    )
    frame.to_parquet(tmp_path / "vidur_mlp.parquet")
    blocks = list(sources()["vidur_mlp"].rows(tmp_path))
    found = {rows.target: rows for rows in blocks if rows.class_name == "matmul"}
    assert {name: len(rows) for name, rows in found.items()} == {"a40": 1, "h100-sxm5-80gb": 1}
    assert found["a40"].columns["n"].tolist() == [64.0]
    (sums,) = (rows for rows in blocks if rows.class_name == "tokenwise")
    # two operands and a result of 32 elements of two bytes, for each of 8 tokens
    assert sums.columns["read_bytes"].tolist() == [1024.0]
    assert sums.columns["write_bytes"].tolist() == [512.0]
    assert sums.columns["in_block"].tolist() == [2.0], "a block has two sums"


def test_products_of_deepbench_are_by_precision(tmp_path: Path) -> None:
    single, half = "Float", "16 bit inputs, 16 bit multiplication, 32 bit addition"
    frame = pd.DataFrame(
        {
            "op": "gemm",
            "device": ["V100", "V100", "MI25"],
            "precision": [single, half, single],
            "m": 5124,
            "n": 700,
            "k": 2048,
            "a_transpose": ["T", "N", "N"],
            "b_transpose": "N",
            "forward_latency_us": 1000.0,
        }
    )
    frame.to_parquet(tmp_path / "deepbench_ops.parquet")
    blocks = [r for r in sources()["deepbench"].rows(tmp_path) if r.class_name != "convolution"]
    kinds = {(r.class_name, r.dtype): r.columns.get("transposed") for r in blocks}
    assert set(kinds) == {("matmul", "f16"), ("matmul_f32", "f32")}
    assert kinds["matmul_f32", "f32"].tolist() == [1.0], "the sheets' first operand is the weight"
    assert {(r.columns["m"][0], r.columns["n"][0]) for r in blocks} == {(700.0, 5124.0)}


def test_half_precision_is_another_type_where_bf16_is_slow() -> None:
    row = Lowered("matmul", "f16", {"m": 1.0, "n": 1.0, "k": 1.0})
    assert computed(row, load_machine("a100"), tf32=True) == ("matmul", "bf16")
    assert computed(row, load_machine("v100"), tf32=True) == ("matmul", "f16")
    assert computed(row, load_machine("rtx4090"), tf32=True) == ("matmul", "bf16")
    assert computed(row, load_machine("mi100"), tf32=True) == ("matmul", "f16")


def test_the_host_launches_what_profilers_time() -> None:
    products = predictor.select("matmul", "bf16", Protocol.GRAPH).card
    assert inside(products, LaunchMode.EAGER, "a100-sxm4-80gb") is Protocol.KERNELS
    assert inside(products, LaunchMode.GRAPH, "a100-sxm4-80gb") is Protocol.GRAPH
    attention = predictor.select("attention_prefill", "bf16", Protocol.GRAPH).card
    assert inside(attention, LaunchMode.EAGER, "h100-sxm5-80gb") is Protocol.GRAPH, (
        "few rows, of one library"
    )
    for launch in LaunchMode:
        assert inside(attention, launch, "rtx4090") is Protocol.KERNELS, "no others of the machine"
