"""SGLang: as vLLM, with quantisation in kernels of its own."""

from dataclasses import replace

from perfc.ir.op import Kind

from . import Batching, EngineKind, Serving
from .vllm import FUSED_EXPERTS
from .vllm import TABLE as VLLM

TABLE = replace(
    VLLM,
    name="sglang",
    title="SGLang",
    epilogue={Kind.ELEMENTWISE: frozenset({Kind.NORMALIZATION})},
    serving=Serving.SGLANG,
    engine=EngineKind(
        Batching.PROMPTS_FIRST,
        8192,
        1024,
        0.88,
        True,
        "SGLang 0.5, ServerArgs: chunked_prefill_size and mem_fraction_static of large GPUs, "
        "overlap schedule; fused_moe_triton",
        adapters="max_loras_per_batch",
        is_ahead=True,
        launched=FUSED_EXPERTS,
    ),
    source="SGLang, sgl-kernel/csrc/elementwise: fused_add_rmsnorm, silu_and_mul; "
    "per_token_quant_fp8 is a kernel of its own; CUDA graphs of decoding steps",
)
