"""llama.cpp on CUDA: ggml's own kernels, recorded as CUDA graphs."""

from . import ANY_DEVICE, STRIDED, EngineKind, Framework, LaunchMode, Runtime

TABLE = Runtime(
    name="llamacpp",
    title="llama.cpp",
    launch=LaunchMode.GRAPH,
    views=STRIDED,
    framework=Framework.OTHER,
    aliases=("llama.cpp", "ggml"),
    engine=EngineKind.of("llamacpp"),
    # Metal, Vulkan and SYCL
    devices={**ANY_DEVICE, "gpu": ANY_DEVICE["cuda"]},
    trains=False,
    source="llama.cpp, ggml/src/ggml-cuda: rms_norm with its scale, glu and rope are one kernel "
    "each, the residual sum another; CUDA graphs while a batch has one token a sequence",
)
