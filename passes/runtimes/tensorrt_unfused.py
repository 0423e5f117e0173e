"""TensorRT on boards that its fused attention has no kernels for."""

from dataclasses import replace

from . import tensorrt

TABLE = replace(
    tensorrt.TABLE,
    name="tensorrt-unfused",
    title="TensorRT engine, attention in three",
    patterns=tuple(p for p in tensorrt.TABLE.patterns if p != "attention"),
    aliases=(),
    below=72,
    measured_as=tensorrt.TABLE.name,
    source="TensorRT, FusedMHARunner: cards of capability 7.0 and older run UnfusedMHARunner, "
    "products of cuBLAS and a softmax",
)
