"""Files of public sources, laid out like theirs, with rows of our own."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

from perfc_lab.data.sources.ecnas import FOLDER as ECNAS
from perfc_lab.data.sources.neusight import DATA, LABELS

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
    "trainable_params": 1000,
    "total_time": 20.5,
    "total_energy (kWh)": 0.5,
    "avg_power_usages:": {
        "gpu": {
            "avg_power_usages (W)": [[150.0]],
            "avg_energy_usages (J)": [[300.0]],
            "devices": ["Quadro RTX 6000"],
        },
        "cpu": {"avg_power_usages (W)": [[50.0, 60.0]], "avg_energy_usages (J)": [[10.0, 20.0]]},
    },
    "evaluation_results": [
        {"training_steps": 0, "training_time": 0.0, "predict_time": 3.0},
        {"training_steps": 625, "training_time": 100.5, "predict_time": 2.5},
    ],
}
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
        {
            "Device": "Tesla P4",
            "Dev_Mem": 8,
            "Mem_Bw": 192,
            "Num_Sm": 40,
            "Core_Per_SM": 64,
            "Freq": 1113,
            "SingleFLOPs": 5699,
            "L2Cache": 2,
        }
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
}


RULE = "| --- " * 24 + "|\n"
RUN_PAGES = {
    "llm_foundry": {
        "scripts/train/benchmarking/README.md": "## A100 40GB\n"
        "|  Model | SeqLen (T) | # GPUs | GPU | MFU | HFU | MicroBatchSize | GradAccum | "
        "GlobalBatchSize | Throughput (S/s) | Throughput (T/s) | Throughput (T/s/GPU) | "
        "GlobalBatchSize (T) | Precision | MP Mode | Sharding Strategy | "
        f"Activation Checkpointing | Activation CPUOffload | NumParams |\n{RULE}"
        "|  125m | 2048 | 8 | a100_40gb | 40.5 | 40.5 | 4 | 2 | 64 | 99 | 204800 | 25600 | "
        "131072 | bf16 | PURE | FULL_SHARD | False | False | 125000000 |\n"
    },
    "nemo": {
        "docs/source/performance/performance_summary.md": "## Large Language Models\n"
        "### Pretraining\n- The results show pre-training at FP8 precision.\n"
        "  - Container: [NeMo24.07](https://catalog)\n  - System: DGX-H100\n\n"
        "| Model | #-GPUs | GBS | MBS | Sequence Length| TP | PP | CP | VP | Tokens / sec / GPU "
        f"| Model TFLOP / sec / GPU |\n{RULE}"
        "| LLAMA2-7B | 8 | 128 | 1 | 4096 | 1 | 1 | 1 | 1 | 16,500 | 750 |\n"
        "### Finetuning\n"
        "| Model | Task | #-GPUs | GBS | MBS | Sequence Length| TP | PP | Tokens / sec / GPU "
        f"| Model TFLOP / sec / GPU |\n{RULE}"
        "| LLAMA2-7B | LoRA | 8 | 32 | 1 | 4096 | 1 | 1 | 25000 | 660 |\n"
    },
    "megatron_bridge": {
        "docs/performance-summary.md": "## 26.02 NeMo Container\n### Pre-Training Performance\n"
        "#### Model: LLAMA3_70B\n"
        "| System | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP "
        f"| EP | Tokens / sec / GPU | Model TFLOP / sec / GPU |\n{RULE}"
        "| DGX-GB200 | 64 | FP8 | 256 | 2 | 8192 | 1 | 1 | 1 | 1 | n/a | n/a | 4000 | 1800 |\n"
        "## 25.09 NeMo Container\n### Pre-Training Performance\n#### System: DGX-H100\n"
        "| Model | #-GPUs | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP | EP | GA | "
        f"Tokens / sec / GPU | Model TFLOP / sec / GPU |\n{RULE}"
        "| LLAMA3_70B | 64 | 128 | 1 | 8192 | 0 | 4 | 8 | 1 | 5 | 1 | 64 | 1600 (1500) | 720 |\n"
    },
}
"""Pages of training runs by source."""
