"""ONNX Runtime with all graph optimisations on its CUDA provider."""

from . import Framework, LaunchMode, Runtime
from ._ort_launches import launches

PATTERNS = (
    "quantized",
    "conv_affine",
    "padded_conv",
    "gemm",
    "bias_gelu",
    "gelu",
    "bias_fast_gelu",
    "fast_gelu",
    "quick_gelu",
    "skip_norm",
    "layer_norm",
    "rms_norm",
    "scaled_product",
)
"""Fusions of both providers. Attention as torch exports it matches none of the runtime's own."""

TABLE = Runtime(
    name="ort",
    title="ONNX Runtime, all graph optimisations, CUDA",
    launch=LaunchMode.EAGER,
    patterns=PATTERNS,
    max_nodes=12,
    framework=Framework.ORT,
    library="cuDNN",
    stands_for=frozenset({"cuda"}),
    aliases=("onnxruntime",),
    launches=launches,
    source="onnxruntime graph_transformer_utils.cc, levels 1 and 2, CUDA provider: "
    "conv_activation_fusion.cc rejects convolutions on it since pull request 19470",
)
