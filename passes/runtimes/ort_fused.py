"""ONNX Runtime before 1.20 on its CUDA provider: f32 convolutions take their activation along."""

from dataclasses import replace

from perfc.ir import DType, Kind

from . import ort
from ._ort_launches import timed

TABLE = replace(
    ort.TABLE,
    name="ort-fused",
    title="ONNX Runtime before 1.20, all graph optimisations, CUDA",
    epilogue={Kind.CONV: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={Kind.CONV: frozenset({"relu", "add_relu"})},
    epilogue_types=frozenset({DType.F32}),
    patterns=("add_relu", *ort.PATTERNS),
    stands_for=frozenset(),
    aliases=(),
    newest=ort.TABLE.name,
    before=(1, 20),
    measured_as=ort.TABLE.name,
    launches=timed,
    source="onnxruntime contrib_ops/cuda/fused_conv.cc: ReLU, or Add and ReLU, in f32 alone. "
    "Unchecked: that 1.20 is the first version without it",
)
