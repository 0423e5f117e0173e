"""vLLM: kernels of its own between library products, recorded as CUDA graphs."""

from perfc.ir import Kind

from . import STRIDED, Batching, EngineKind, Framework, LaunchMode, RecordedSteps, Runtime, Serving

FUSED_EXPERTS = {"moe": 8, "qmoe": 8}
"""Launches of experts as one operator: a choice, tokens sorted by expert (2), two products, the
activation between them, the sum of what was chosen, and a quantisation."""
TABLE = Runtime(
    name="vllm",
    title="vLLM",
    launch=LaunchMode.GRAPH,
    epilogue={
        Kind.ELEMENTWISE: frozenset({Kind.NORMALIZATION, Kind.QUANTIZE}),
        Kind.NORMALIZATION: frozenset({Kind.QUANTIZE}),
    },
    views=STRIDED,
    keeps_shared=True,
    framework=Framework.OTHER,
    serving=Serving.VLLM,
    engine=EngineKind(
        Batching.MIXED,
        8192,
        1024,
        0.9,
        False,
        "vLLM 0.19, EngineArgs: OpenAI server on a GPU of 70 GiB and more; flash_attn.py: one call "
        "of flash_attn_varlen_func for all tokens of a step; async_scheduling; fused_moe.py; "
        "max_cudagraph_capture_size, GptOssForCausalLMConfig; FULL_AND_PIECEWISE: a piece, the "
        "write of keys and attention (3); CacheConfig.gpu_memory_utilization: 0.92 from 0.22 on",
        utilization_from={(0, 22): 0.92},
        attends_jointly=True,
        adapters="max_loras",
        is_ahead=True,
        groups_caches=True,
        joins_ranks=True,
        launched=FUSED_EXPERTS,
        recording=RecordedSteps({"": 512, "gpt_oss": 1024}, of_decode=2, around_attention=3),
    ),
    trains=False,
    source="vLLM, csrc/layernorm_kernels.cu and activation_kernels.cu: fused_add_rms_norm, "
    "silu_and_mul; compilation/passes/fusion: both with the quantisation behind them; one merged "
    "product of queries, keys and values, one of gate and up; full CUDA graphs of decoding steps",
)
"""A residual sum joins the normalisation that reads it, and is written for the next one."""
