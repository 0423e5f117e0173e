"""OpenVINO on a CPU: convolutions and products with pointwise epilogues, as oneDNN has them."""

from perfc.ir import Kind

from . import CPU, Framework, LaunchMode, Runtime

TABLE = Runtime(
    name="openvino",
    title="OpenVINO, CPU plugin",
    launch=LaunchMode.EAGER,
    epilogue={
        Kind.CONV: frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE}),
        Kind.MATMUL: frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE}),
        Kind.ELEMENTWISE: frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE}),
    },
    patterns=("quantized", "conv_affine", "padded_conv", "gemm", "gelu", "layer_norm"),
    framework=Framework.OPENVINO,
    stands_for=frozenset({"cpu"}),
    devices={**CPU, "cuda": frozenset({"Intel"})},
    formats=frozenset({"openvino"}),
    trains=False,
    narrows=dict.fromkeys(("Intel", "GenuineIntel", "AMD", "AuthenticAMD"), "bf16"),
    source="OpenVINO's CPU plugin, graph_optimizer.cpp: simple operations join convolutions, "
    "products and each other (Eltwise chains through snippets); config.cpp: bf16 is the "
    "default precision on processors with AVX512_BF16 or AMX, as 2026.4 ran ResNet-50",
)
