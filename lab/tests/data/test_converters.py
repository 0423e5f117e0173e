"""Public sources laid out like theirs, with rows of our own: units, names, what is left out."""

from __future__ import annotations

import io
import json
import math
import pickle
import subprocess
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from perfc_lab.data.fetch import fetch
from perfc_lab.data.pages import PageSource
from perfc_lab.data.source import sources
from perfc_lab.data.sources.ecnas import FOLDER as ECNAS
from perfc_lab.data.sources.neusight import DATA, LABELS, positive
from perfc_lab.tables import sources as kernel_sources
from tests.golden_estimates import differences

AIC = "aic-core/src/aiconfigurator_core/systems"
HEAD = "framework,version,device,op_name,kernel_source"
H100 = "VLLM,0.24.0,NVIDIA H100 80GB HBM3"
CONTEXT = f"{HEAD},batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype"
DECODE = f"{CONTEXT},window_size,step,latency"
VIDUR_STATS = ",".join(f"time_stats.send_recv.{s}" for s in ("min", "max", "mean", "median", "std"))
SEND = (
    f",{VIDUR_STATS},rank,num_workers,size,collective,devices_per_node,max_devices_per_node\n"
    "0,0.016,0.064,0.03,0.024,0.02,0,2,2048,send_recv,1,8\n"
)
MLP = "".join(f"time_stats.add.{s}," for s in ("min", "max", "mean", "median", "std")) + (
    "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,"
    "num_tensor_parallel_workers\n1,1,1,1,1,8,4,512,1024,1000,True,64,2\n"
)
OPS = "OPName,Latency,Device,Torch Version,CUDNN Version,Kernel Name,Grid x,CUDA Version,Kernels"
OLD_ATTENTION = (
    "time_stats.attn_prefill.median,time_stats.attn_decode.median,batch_size,prefill_chunk_size,"
    "kv_cache_size,is_prefill\n0.005,,1,32,64,True\n,0.004,2,0,128,False\n"
)
LABEL = {"num_layer": 24, "e2e_latency": 135.5, "fw_latency": 47.5, "bwall_latency": 88.0}
NODES = (
    "op,target,type,latency,fw_latency,bw_latency,acc_latency,input_shapes,output_shape,dtype,Name\n"
    "placeholder,x,,0.0,0.0,0.0,0,[],(2),torch.int64,x\n"
    "call_module,fc,,0.5,0.5,0.25,0,[[2]],(2),torch.float32,fc\n"
)
RUN = {
    "trainable_params": 1000, "total_time": 20.5, "total_energy (kWh)": 0.5,
    "avg_power_usages:": {
        "gpu": {"avg_power_usages (W)": [[150.0]], "avg_energy_usages (J)": [[300.0]],
                "devices": ["Quadro RTX 6000"]},
        "cpu": {"avg_power_usages (W)": [[50.0, 60.0]], "avg_energy_usages (J)": [[10.0, 20.0]]},
    },
    "evaluation_results": [
        {"training_steps": 0, "training_time": 0.0, "predict_time": 3.0},
        {"training_steps": 625, "training_time": 100.5, "predict_time": 2.5},
    ],
}  # fmt: skip
SUBNET = {"ks": [3, 5], "e": [4, 6], "d": [2], "r": [224]}


def archive(value: object) -> bytes:
    """What newer versions of ``torch.save`` write of lists, mappings and numbers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("archive/data.pkl", pickle.dumps(value, protocol=2))
        packed.writestr("archive/version", "3\n")
    return out.getvalue()


def row_of_pickles(value: object) -> bytes:
    """What older versions write of the same."""
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, value, [])
    return b"".join(pickle.dumps(part, protocol=2) for part in head)


FILES: dict[str, str | bytes] = {
    f"{AIC}/h100_sxm.yaml": (
        "gpu:\n  mem_bw: 3350000000000 # sheet\n  bfloat16_tc_flops: 989000000000000\n"
        "  mem_capacity: 85899345920\n  power: 700\nnode:\n  num_gpus_per_node: 8\n"
    ),
    f"{AIC}/lanes.yaml": "lanes: {}\n",
    f"{AIC}/data/h100_sxm/gemm/vllm/0.24.0/gemm_perf.txt": (
        f"{HEAD},gemm_dtype,m,n,k,latency\n{H100},gemm,x,bfloat16,8,16,32,0.5\n"
    ),
    f"{AIC}/data/h100_sxm/attention/vllm/0.24.0/context_attention_perf.txt": (
        f"{CONTEXT},latency\n{H100},context_attention,fa3,1,128,8,8,64,bfloat16,fp8,0.25\n"
    ),
    f"{AIC}/data/a100_sxm/trtllm/1.0.0/generation_attention_perf.txt": (
        f"{DECODE}\nTRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,g,torch,4,1,8,8,64,half,half,0,100,0.5\n"
        "TRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,g,torch,4,1,8,8,64,half,half,0,200,\n"
    ),
    f"{AIC}/data/h100_sxm/encoder_attention/vllm/0.24.0/encoder_attention_perf.txt": (
        f"{HEAD},batch_size,isl,num_heads,head_dim,attn_dtype,latency,power,power_limit\n"
        f"{H100},encoder_attention,fa,4,13,2,64,bfloat16,0.125,0.0,0.0\n"
    ),
    f"{AIC}/data/h100_sxm/moe/vllm/0.24.0/moe_perf.txt": (
        f"{HEAD},moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
        f"moe_ep_size,distribution,latency\n"
        f"{H100},moe,vllm_fused_moe,fp8,64,2048,768,8,128,2,4,power_law_1.2,0.125\n"
    ),
    **{
        f"{AIC}/data/h100_sxm/mla/vllm/0.24.0/{phase}_mla_perf.txt": (
            f"{HEAD},mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n"
            f"{H100},mla,vllm_flashmla,bfloat16,fp8,16,4,1,8,1023,0.0625\n"
        )
        for phase in ("context", "generation")
    },
    f"{AIC}/data/h100_sxm/mla_bmm/vllm/0.24.0/mla_bmm_perf.txt": (
        f"{HEAD},bmm_dtype,num_tokens,num_heads,latency\n"
        f"{H100},mla_gen_pre,vllm_torch_bmm,bfloat16,64,16,0.03125\n"
    ),
    f"{AIC}/data/h100_sxm/mamba2/trtllm/1.3.0/mamba2_perf.txt": (
        f"{HEAD},phase,batch_size,seq_len,num_tokens,d_model,d_state,d_conv,nheads,head_dim,"
        "n_groups,chunk_size,model_name,latency\n"
        f"{H100},mamba2,causal_conv1d_fn,context,2,64,128,1024,64,4,16,64,4,128,maker/net,0.125\n"
    ),
    f"{AIC}/data/h100_sxm/gdn/vllm/0.24.0/gdn_perf.txt": (
        f"{HEAD},phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,head_k_dim,"
        "num_v_heads,head_v_dim,model_name,latency\n"
        f"{H100},gdn,chunk_gated_delta_rule_flashinfer,context,2,64,128,2048,4,16,128,32,128,"
        "maker/net,0.25\n"
        f"{H100},gdn,causal_conv1d_update,generation,8,1,8,2048,4,16,128,32,128,maker/net,0.0625\n"
    ),
    f"{AIC}/data/h100_sxm/comm/nccl/2.27.3/nccl_perf.txt": (
        f"{HEAD},nccl_dtype,num_gpus,message_size,latency\n"
        "TRTLLM,1,NVIDIA H100 80GB HBM3,all_gather,NCCL,half,4,1024,0.5\n"
    ),
    f"{AIC}/data/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.txt": (
        f"{HEAD},allreduce_dtype,num_gpus,message_size,latency,backend\n"
        f"{H100},all_reduce,vLLM_custom_graph,bfloat16,2,128,0.25,vllm_graph\n"
    ),
    "data/profiling/compute/a100/maker/net/mlp.csv": MLP,
    "data/profiling/network/a100_pair/send_recv.csv": SEND,
    "data/profiling/network/h100_pair/send_recv.csv": SEND,
    f"{DATA}/dataset/train/collect/bmm/p2.1.0/Tesla P4.csv": (
        f"{OPS},B,M,N,K\nbmm,0.5,Tesla P4,p2.1.0,8902,sgemm,2,cu121,;sgemm,3,4,5,6\n"
    ),
    f"{DATA}/dataset_amd/train/collect/add/p2.4.1/AMD Instinct MI100.csv": (
        "OPName,Latency,Device,Kernel Name,Grid x,Kernels,B,H\n"
        "add,0.25,AMD Instinct MI100,vectorized,2,;a;b,10,20\n"
    ),
    f"{DATA}/dataset/test/linear.csv": (
        f"{OPS},B,M,N,K\nlinear,1.5,Tesla P4,p2.1.0,8902,sgemm,2,cu121,;sgemm,1,4,5,6\n"
    ),
    f"{DATA}/dataset/test/ln.csv": (
        "OPName,Latency,Device,Kernel Name,B,H,large\nln,0.5,Tesla P4,layer_norm,3,7,True\n"
    ),
    f"{DATA}/dataset/train/collect/conv/p2.1.0/Tesla P4.csv": (
        f"{OPS},B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n"
        "conv,2.0,Tesla P4,p2.1.0,8902,winograd,2,cu121,;a;b,2,3,4,3,5,1,1\n"
    ),
    f"{DATA}/device_configs/Tesla_P4.json": json.dumps(
        {"Device": "Tesla P4", "Dev_Mem": 8, "Mem_Bw": 192, "Num_Sm": 40, "Core_Per_SM": 64,
         "Freq": 1113, "SingleFLOPs": 5699, "L2Cache": 2}
    ),
    f"{DATA}/DLmodel_configs/bert.json": '{\n  "architectures": ["Bert"]\n}\n',
    f"{LABELS}/Tesla_P4/bert-train-512-2.json": json.dumps(LABEL),
    f"{LABELS}/Tesla_P4/bert-train-512-2.csv": NODES,
    f"{LABELS}/Tesla_P4/bert-inf-512-2-fusion.json": json.dumps(
        {**LABEL, "bwall_latency": 0, "num_layer": 0}
    ),
    "profiler/perf/RTX4090/maker/net/bf16/tp2/dense.csv": "layer,tokens,time_us\nact_fn,4,2.5\n",
    "profiler/perf/RTX4090/maker/net/bf16/tp2/per_sequence.csv": (
        "layer,sequences,time_us\nlm_head,1,1096.5\n"
    ),
    "profiler/perf/RTX4090/maker/net/bf16/tp2/attention.csv": (
        "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n16,32,1,64,9.5\n"
    ),
    "profiler/v0/perf_models/H100/maker/net/tp1/layers.csv": (
        "layer_name,input,kv_cache,tp_size,latency(ns)\nq_proj,8,0,1,2500\n"
    ),
    "llm_profile/perf_models/H100/maker/net/tp1/attention.csv": OLD_ATTENTION,
    f"{ECNAS}/graphs/generated_graphs_4V9E.json": '{"ab": [[[0, 1], [0, 0]], [-1, -2]]}',
    f"{ECNAS}/graphs/generated_graphs_5V9E.json": '{"cd": [[[0, 1], [0, 0]], [-1, -2]]}',
    f"{ECNAS}/train_model_results/energy/4V9E/4_epochs/a/ab/repeat_1/results.json": json.dumps(RUN),
    f"{ECNAS}/train_model_results/energy/5V9E/4_epochs/c/cd/repeat_1/results.json": json.dumps(RUN),
    "data/nasbench201/str_arch2idx.pt": archive({"|b|": 1, "|a|": 0}),
    "data/nasbench201/latency/titan_rtx_256.pt": archive([1.5, 2.5]),
    "data/fbnet/metainfo.pt": archive({"arch": [{"op_idx_list": [7, 8]}]}),
    "data/fbnet/latency/essential_ph_1.pt": row_of_pickles([33.0]),
    "data/ofa/ofa_archs.pt": archive({"arch": [SUBNET]}),
    "data/ofa/latency/v100_64.pt": archive([20.0]),
}  # fmt: skip


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
    "timm_benchmark", "zeus_train_power", "deepbench_ops", "gpumemnet_mlp", "mlenergy",
    "aic_serving", "trtllm_throughput",
}  # fmt: skip
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
        "trtllm", 64, 4, 64,
    )  # fmt: skip
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
        "nccl", "nccl", "all_gather", "half",
    )  # fmt: skip
    assert (custom["table"], custom["library"], custom["op"]) == (
        "custom_allreduce", "vllm", "all_reduce",
    )  # fmt: skip
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
