"""TensorRT-LLM: attention fused with rotary embedding and cache, all-reduce with norms."""

from dataclasses import replace

from perfc.ir import Kind

from . import NVIDIA_GPU, EngineKind, Serving
from .vllm import TABLE as VLLM

TABLE = replace(
    VLLM,
    name="trtllm",
    title="TensorRT-LLM",
    epilogue={
        **VLLM.epilogue,
        Kind.COLLECTIVE: frozenset({Kind.ELEMENTWISE, Kind.NORMALIZATION, Kind.QUANTIZE}),
        Kind.NORMALIZATION: frozenset({Kind.QUANTIZE, Kind.ELEMENTWISE}),
    },
    epilogue_tags={
        Kind.COLLECTIVE: frozenset({"add", "rms_norm", "quantize_linear"}),
        Kind.NORMALIZATION: frozenset({"quantize_linear", "reshape", "rotary_embedding"}),
    },
    serving=Serving.TRTLLM,
    aliases=("tensorrt-llm",),
    devices=NVIDIA_GPU,
    engine=EngineKind.of("trtllm"),
    source="TensorRT-LLM, cpp/tensorrt_llm/kernels: customAllReduceKernels (all-reduce, residual, "
    "RMS norm and quantisation as one), fusedQKNormRopeKernel; CUDA graphs of decoding steps",
)
