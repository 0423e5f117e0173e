"""Public sources laid out like theirs, with rows of our own: units, names, what is left out."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from perfc_lab.data.fetch import fetch
from perfc_lab.data.pages import PageSource
from perfc_lab.data.source import sources
from perfc_lab.data.sources.neusight import positive
from perfc_lab.tables import sources as kernel_sources
from tests.golden_estimates import differences

from .published_files import FILES, SUBNET


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One repository with the files of all of them."""
    folder = tmp_path_factory.mktemp("public")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "rows"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    head = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return folder, head.stdout.strip()[:12]


ELSEWHERE = {
    "timm_benchmark",
    "zeus_train_power",
    "deepbench_ops",
    "gpumemnet_mlp",
    "mlenergy",
    "aic_serving",
    "trtllm_throughput",
    "argonne_batches",
}
"""Tables of sources that other tests rebuild."""


@pytest.fixture(scope="module")
def tables(
    repository: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pd.DataFrame]:
    """Every table of the sources, read back."""
    folder, commit = repository
    output = tmp_path_factory.mktemp("tables")
    names = ("aiconfigurator", "vidur", "neusight", "llmservingsim", "ecnas", "help")
    paths = [p for n in names for p in fetch(sources()[n], output, f"file://{folder}", commit)]
    return {path.stem: pd.read_parquet(path) for path in paths}


def test_every_source_writes_the_tables_it_names(tables: dict[str, pd.DataFrame]) -> None:
    named = {t for s in sources().values() if not isinstance(s, PageSource) for t in s.tables}
    assert named - set(tables) == ELSEWHERE


def test_experts_and_latents_keep_their_extents(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_moe"].to_dict("records")
    assert (row["num_tokens"], row["inter_size"], row["moe_ep_size"]) == (64, 768, 4)
    assert (row["distribution"], row["latency_us"]) == ("power_law_1.2", 125)
    (row,) = tables["aic_mla_generation"].to_dict("records")
    assert (row["num_heads"], row["step"], row["kv_cache_dtype"]) == (16, 1023, "fp8")
    assert row["latency_us"] == 62.5


def test_states_and_absorbed_products_keep_their_extents(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_mla_bmm"].to_dict("records")
    assert (row["op_name"], row["num_tokens"], row["num_heads"]) == ("mla_gen_pre", 64, 16)
    assert row["latency_us"] == 31.25
    (row,) = tables["aic_mamba2"].to_dict("records")
    assert (row["framework"], row["d_state"], row["n_groups"], row["seq_len"]) == (
        "trtllm",
        64,
        4,
        64,
    )
    prompt, token = tables["aic_gdn"].to_dict("records")
    assert (prompt["phase"], prompt["num_k_heads"], prompt["num_v_heads"]) == ("context", 16, 32)
    assert (token["phase"], token["batch_size"], token["latency_us"]) == ("generation", 8, 62.5)


def test_prompts_without_step_follow_nothing(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_attention_context"].to_dict("records")
    assert (row["system"], row["framework"], row["version"]) == ("h100_sxm", "vllm", "0.24.0")
    assert (row["kv_step"], row["window_size"], row["input_len"]) == (0, 0, 128)
    assert row["latency_us"] == 250
    assert (row["attn_dtype"], row["kv_cache_dtype"]) == ("bfloat16", "fp8")


def test_decode_steps_above_the_peak_are_marked(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_attention_generation"].to_dict("records")
    assert row["suspect"]
    assert (row["framework"], row["kv_step"], row["latency_us"]) == ("trtllm", 100, 500)


def test_power_of_nought_is_unknown(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_attention_encoder"].to_dict("records")
    assert pd.isna(row["power_w"])
    assert (row["input_len"], row["latency_us"]) == (13, 125)


def test_collectives_of_both_tables_name_library_and_operation(
    tables: dict[str, pd.DataFrame],
) -> None:
    nccl, custom = tables["aic_comm"].to_dict("records")
    assert (nccl["table"], nccl["library"], nccl["op"], nccl["dtype"]) == (
        "nccl",
        "nccl",
        "all_gather",
        "half",
    )
    assert (custom["table"], custom["library"], custom["op"]) == (
        "custom_allreduce",
        "vllm",
        "all_reduce",
    )
    assert (custom["message_elements"], custom["latency_us"]) == (128, 250)


def test_data_sheets_leave_unknown_rates_empty(tables: dict[str, pd.DataFrame]) -> None:
    (row,) = tables["aic_systems"].to_dict("records")
    assert (row["system"], row["mem_bw_gbps"], row["bf16_tflops"]) == ("h100_sxm", 3350, 989)
    assert (row["memory_gib"], row["power_w"]) == (80, 700)
    assert pd.isna(row["fp4_tflops"])


def test_a_copied_file_of_collectives_is_suspect(tables: dict[str, pd.DataFrame]) -> None:
    found = tables["vidur_network"].set_index("system")
    assert list(found["suspect"]) == [False, True]
    assert found.loc["a100_pair", "latency_median_us"] == 24
    assert found.loc["a100_pair", "size_bytes"] == 2048


def test_neusight_calls_the_reduction_n(tables: dict[str, pd.DataFrame]) -> None:
    found = tables["neusight_ops"].set_index("op")
    bmm, linear = found.loc["bmm"], found.loc["linear"]
    assert tuple(bmm[["batch", "m", "k", "n"]]) == (3, 4, 5, 6)
    assert bmm["flops"] == 2 * 3 * 4 * 5 * 6
    assert bmm["min_bytes"] == 4 * 3 * (4 * 5 + 5 * 6 + 4 * 6)
    assert linear["min_bytes"] == 4 * (4 * 5 + 5 * 6 + 4 * 6 + 6)
    assert (bmm["split"], linear["split"]) == ("train", "test")
    assert (bmm["torch_version"], bmm["cuda_version"], bmm["latency_us"]) == ("2.1.0", "cu121", 500)


def test_rows_of_tensors_and_convolutions_have_their_own_extents(
    tables: dict[str, pd.DataFrame],
) -> None:
    found = tables["neusight_ops"].set_index("op")
    add, norm, conv = found.loc["add"], found.loc["ln"], found.loc["conv"]
    assert (add["rows"], add["cols"], add["min_bytes"], add["n_kernels"]) == (10, 20, 2400, 2)
    assert pd.isna(add["batch"])
    assert (norm["min_bytes"], norm["split"]) == (168, "test")
    assert pd.isna(norm["n_kernels"])
    assert (conv["in_hw"], conv["kernel_size"], conv["batch"]) == (5, 3, 2)
    assert conv["flops"] == 2 * 2 * 25 * 3 * 4 * 9
    assert conv["min_bytes"] == 4 * (2 * 25 * 7 + 3 * 4 * 9)


def test_models_carry_configuration_and_what_their_names_say(
    tables: dict[str, pd.DataFrame],
) -> None:
    found = tables["neusight_e2e"].set_index("mode")
    assert found.loc["train", "device"] == "Tesla P4"
    assert found.loc["train", "backward_latency_ms"] == 88
    assert found.loc["inf", "variant"] == "torch_compile"
    assert pd.isna(found.loc["inf", "backward_latency_ms"])
    assert pd.isna(found.loc["inf", "num_layers"])
    assert json.loads(str(found.loc["inf", "hf_config_json"])) == {"architectures": ["Bert"]}


def test_nodes_that_took_no_time_are_left_out(tables: dict[str, pd.DataFrame]) -> None:
    (node,) = tables["neusight_e2e_nodes"].to_dict("records")
    assert (node["node_index"], node["node_name"], node["out_dtype"]) == (1, "fc", "float32")
    assert (node["forward_latency_us"], node["backward_latency_us"]) == (500, 250)


def test_both_profilers_become_one_table(tables: dict[str, pd.DataFrame]) -> None:
    found = tables["llmservingsim_layers"].set_index("layer")
    assert found.loc["act_fn", "latency_us"] == 2.5
    assert found.loc["lm_head", "x_name"] == "sequences"
    assert found.loc["q_proj", "latency_us"] == 2.5
    assert found.loc["q_proj", "dtype"] == "bf16_or_fp16"
    assert set(found["model"]) == {"maker/net"}
    assert list(found.loc[["act_fn", "q_proj"], "tensor_parallel"]) == [2, 1]


def test_older_attention_is_a_prompt_or_a_step(tables: dict[str, pd.DataFrame]) -> None:
    found = tables["llmservingsim_attention"]
    prompt, step = found[found["profiler"] == "v0_torch_profiler"].to_dict("records")
    assert (prompt["prefill_chunk"], prompt["kv_prefill"], prompt["latency_us"]) == (32, 64, 5)
    assert (step["prefill_chunk"], step["n_decode"], step["kv_decode"]) == (0, 2, 128)
    assert pd.isna(step["kv_prefill"])
    (mixed,) = found[found["profiler"] == "v1_vllm0.19"].to_dict("records")
    assert (mixed["kv_decode"], mixed["latency_us"]) == (64, 9.5)


def test_energy_of_training_is_in_joules(tables: dict[str, pd.DataFrame]) -> None:
    row = tables["ecnas_energy"].to_dict("records")[0]
    assert (row["space"], row["model_hash"], row["op_labels_json"]) == ("4V9E", "ab", "[-1,-2]")
    assert (row["total_energy_j"], row["gpu_energy_j"], row["cpu_energy_j"]) == (1.8e6, 300, 30)
    assert (row["train_steps"], row["train_time_s"], row["eval_time_s"]) == (625, 100.5, 2.5)


def test_latencies_of_architectures_keep_their_order(tables: dict[str, pd.DataFrame]) -> None:
    archs = tables["help_nas_archs"].groupby("space")["arch"].agg(list)
    assert archs["nasbench201"] == ["|a|", "|b|"]
    assert archs["fbnet"] == ["7,8"]
    assert json.loads(archs["ofa"][0]) == {**SUBNET, "r": 224}
    times = tables["help_nas_latency"].set_index(["space", "arch_index"])
    assert times.loc[("nasbench201", 1), "latency_ms"] == 2.5
    gpu, phone = times.loc[("nasbench201", 0)], times.loc[("fbnet", 0)]
    assert (gpu["device"], gpu["device_kind"], gpu["batch"]) == ("titan_rtx", "gpu", 256)
    assert (phone["device"], phone["device_kind"], phone["batch"]) == ("essential_ph_1", "other", 1)


def test_tables_hold_what_stands_in_their_golden_file(
    tables: dict[str, pd.DataFrame], request: pytest.FixtureRequest
) -> None:
    """Every cell of every table; ``--update-goldens`` writes what came out, to be reviewed."""
    lines = [
        f"{name}: {', '.join(f'{k} {v}' for k, v in row.items() if not pd.isna(v))}"
        for name, table in sorted(tables.items())
        for row in table.to_dict("records")
    ]
    path = Path(__file__).parent / "tables.txt"
    if request.config.getoption("--update-goldens"):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    assert differences(expected, "\n".join(lines)) == []


def test_rows_that_are_learned_from_are_those_of_the_golden_file(
    tables: dict[str, pd.DataFrame], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Kernels with their parameters, of every source that predictors are trained on."""
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    lines: list[str] = []
    for name, source in sorted(kernel_sources().items()):
        # the layers of `MLP` above are no products
        if name != "vidur_mlp" and all((tmp_path / file).is_file() for file in source.files):
            for block in source.rows(tmp_path):
                lines.append(
                    f"{name}: {block.class_name}, {block.target}, {block.dtype}, "
                    f"{block.protocol.value}, {block.framework or 'no framework'}"
                )
                for i, time_s in enumerate(block.time_s):
                    values = ", ".join(f"{k} {v[i]:.9g}" for k, v in block.columns.items())
                    lines.append(f"  {time_s:.9g} s, {values}")
    path = Path(__file__).parent / "rows.txt"
    if request.config.getoption("--update-goldens"):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert differences(path.read_text(encoding="utf-8"), "\n".join(lines)) == []
    assert len({line.partition(":")[0] for line in lines if not line.startswith(" ")}) == 8


def test_nought_of_a_label_was_not_measured() -> None:
    assert positive({"layers": 3}, Path("x"), "layers") == 3.0
    assert math.isnan(positive({"layers": 0}, Path("x"), "layers"))
