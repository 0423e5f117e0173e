"""vLLM: custom kernels between library products, recorded as CUDA graphs."""

from perfc.ir import Kind

from . import STRIDED, EngineKind, Framework, LaunchMode, Runtime, Serving

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
    engine=EngineKind.of("vllm"),
    trains=False,
    source="vLLM, csrc/layernorm_kernels.cu and activation_kernels.cu: fused_add_rms_norm, "
    "silu_and_mul; compilation/passes/fusion: both with the quantisation behind them; one merged "
    "product of queries, keys and values, one of gate and up; full CUDA graphs of decoding steps",
)
"""A residual sum joins the normalisation that reads it, and is written for the next one."""
