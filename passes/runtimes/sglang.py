"""SGLang: as vLLM, with quantisation in kernels of its own."""

import math
from dataclasses import replace

from perfc.ir import Kind

from . import Batching, EngineKind, PoolOf, Serving, StaticShare
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
        "SGLang 0.5, ServerArgs: chunked_prefill_size of large GPUs, overlap schedule; "
        "_handle_gpu_memory_settings: mem_fraction_static; model_runner.py: the pool is that share "
        "of what was free before weights were loaded, less these; fused_moe_triton",
        pool_of=PoolOf.STATIC,
        static=StaticShare(
            constant=512,
            token=1.5,
            graph=2,
            rank=128,
            least=10 * 1024,
            least_from=60 * 1024,
            sizes=(
                (20 * 1024, 2048, 8, 8),
                (35 * 1024, 2048, 24, 80),
                (60 * 1024, 4096, 32, 160),
                (160 * 1024, 8192, 256, 512),
                (math.inf, 16384, 512, 512),
            ),
        ),
        adapters="max_loras_per_batch",
        is_ahead=True,
        joins_ranks=True,
        launched=FUSED_EXPERTS,
    ),
    source="SGLang, sgl-kernel/csrc/elementwise: fused_add_rmsnorm, silu_and_mul; "
    "per_token_quant_fp8 is a kernel of its own; CUDA graphs of decoding steps",
)
