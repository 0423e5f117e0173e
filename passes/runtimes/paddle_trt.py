"""Paddle Inference with TensorRT subgraphs: TensorRT's kernels, launched by Paddle's host."""

from dataclasses import replace

from . import Framework
from .tensorrt import TABLE as TENSORRT

TABLE = replace(
    TENSORRT,
    name="paddle-trt",
    title="Paddle Inference with TensorRT subgraphs",
    framework=Framework.OTHER,
    has_parts=False,
    is_versioned=False,
    stands_for=frozenset(),
    aliases=("paddle-tensorrt",),
    source=f"{TENSORRT.source}; Paddle hands whole subgraphs to an engine",
)
