"""llama.cpp on CUDA: ggml's own kernels, recorded as CUDA graphs."""

from . import STRIDED, Batching, EngineKind, Framework, LaunchMode, Runtime

TABLE = Runtime(
    name="llamacpp",
    title="llama.cpp",
    launch=LaunchMode.GRAPH,
    views=STRIDED,
    framework=Framework.OTHER,
    aliases=("llama.cpp", "ggml"),
    engine=EngineKind(
        Batching.MIXED,
        512,
        1,
        0.98,
        True,
        "llama.cpp, llama-bench: n_ubatch 512, one sequence; build_attn and build_ffn: queries, "
        "keys and values apart, gate and up apart (3), both rotations (1), both writes to the "
        "cache (2), attention as two products, softmax and a copy (3); ggml-cuda/mmvq.cu: "
        "quantize_q8_1 before each of 7 products; ggml-cuda.cu: no CUDA graphs over several GPUs; "
        "pull request 6017: batches of a prompt in flight on several GPUs; "
        "ggml_cuda_op_mul_mat_cublas: operands, quantised weights and results converted around "
        "products in f16 with CUBLAS_COMPUTE_16F, until pull request 8075 beyond "
        "MMQ_MAX_BATCH_SIZE (32) of tokens; "
        "build_attn without flash attention; it takes what is asked for: a margin of 2 % is left, "
        "as of other runs",
        beside=9,
        beside_quantized=7,
        multiplies=frozenset({"f16", "f32"}),
        converts=True,
        sums_halves=True,
        widens_beyond=32,
        overlaps_prompts=True,
    ),
    trains=False,
    source="llama.cpp, ggml/src/ggml-cuda: rms_norm with its scale, glu and rope are one kernel "
    "each, the residual sum another; CUDA graphs while a batch has one token a sequence",
)
