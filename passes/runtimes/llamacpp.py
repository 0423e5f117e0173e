"""llama.cpp on CUDA: ggml's own kernels, recorded as CUDA graphs."""

from . import STRIDED, Batching, EngineKind, Framework, Launch, Runtime

TABLE = Runtime(
    name="llamacpp",
    title="llama.cpp",
    launch=Launch.GRAPH,
    views=STRIDED,
    framework=Framework.OTHER,
    aliases=("llama.cpp", "ggml"),
    engine=EngineKind(
        Batching.MIXED,
        512,
        1,
        1.0,
        True,
        "llama.cpp, llama-bench: n_ubatch 512, one sequence",
    ),
    trains=False,
    source="llama.cpp, ggml/src/ggml-cuda: rms_norm with its scale, glu and rope are one kernel "
    "each, the residual sum another; CUDA graphs while a batch has one token a sequence",
)
