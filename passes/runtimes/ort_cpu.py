"""ONNX Runtime with extended graph optimisations on its CPU provider."""

from perfc.ir import Kind

from . import CPU, Framework, LaunchMode, Runtime
from .ort import PATTERNS

_ACTIVATIONS = frozenset({"relu", "sigmoid", "tanh", "leaky_relu", "clip", "hard_sigmoid"})

TABLE = Runtime(
    name="ort-cpu",
    title="ONNX Runtime, extended graph optimisations, CPU",
    launch=LaunchMode.EAGER,
    epilogue={Kind.CONV: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={Kind.CONV: _ACTIVATIONS},
    patterns=("gemm_activation", "integer_product", *PATTERNS),
    devices=CPU,
    max_nodes=12,
    framework=Framework.ORT,
    source="onnxruntime graph_transformer_utils.cc, levels 1 and 2, CPU provider; compared with "
    "the graphs it writes by benchmarks/fusion_check.py",
)
