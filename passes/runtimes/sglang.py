"""SGLang: as vLLM, with quantisation in separate kernels."""

from dataclasses import replace

from perfc.ir import Kind

from . import EngineKind, Serving
from .vllm import TABLE as VLLM

TABLE = replace(
    VLLM,
    name="sglang",
    title="SGLang",
    epilogue={Kind.ELEMENTWISE: frozenset({Kind.NORMALIZATION})},
    serving=Serving.SGLANG,
    engine=EngineKind.of("sglang"),
    source="SGLang, sgl-kernel/csrc/elementwise: fused_add_rmsnorm, silu_and_mul; "
    "per_token_quant_fp8 is a kernel of its own; CUDA graphs of decoding steps",
)
