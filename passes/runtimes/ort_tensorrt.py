"""ONNX Runtime with its TensorRT provider: TensorRT's kernels, launched by ONNX Runtime's host."""

from dataclasses import replace

from . import Framework
from .tensorrt import TABLE as TENSORRT

TABLE = replace(
    TENSORRT,
    name="ort-tensorrt",
    title="ONNX Runtime with its TensorRT provider",
    framework=Framework.OTHER,
    is_versioned=False,
    stands_for=frozenset(),
    aliases=("ort-trt", "onnxruntime-tensorrt"),
    source=f"{TENSORRT.source}; ONNX Runtime hands whole subgraphs to an engine",
)
