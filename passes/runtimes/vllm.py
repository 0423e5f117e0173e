"""vLLM: kernels of its own between library products, recorded as CUDA graphs."""

from perfc.ir.op import Kind

from . import STRIDED, Batching, EngineKind, Framework, Launch, Runtime, Serving

TABLE = Runtime(
    name="vllm",
    title="vLLM",
    launch=Launch.GRAPH,
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
        "of flash_attn_varlen_func for all tokens of a step; async_scheduling",
        attends_jointly=True,
        adapters="max_loras",
        is_ahead=True,
    ),
    trains=False,
    source="vLLM, csrc/layernorm_kernels.cu and activation_kernels.cu: fused_add_rms_norm, "
    "silu_and_mul; compilation/passes/fusion: both with the quantisation behind them; one merged "
    "product of queries, keys and values, one of gate and up; full CUDA graphs of decoding steps",
)
"""A residual sum joins the normalisation that reads it, and is written for the next one."""
