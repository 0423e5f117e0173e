"""TensorRT: convolutions and products with epilogues, pointwise chains, fused attention."""

from functools import partial

from perfc.ir import Kind

from . import (
    NVIDIA_GPU,
    STRIDED,
    Framework,
    LaunchMode,
    Runtime,
    Serving,
)
from ._launch_rules import rules

_POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE})

TABLE = Runtime(
    name="tensorrt",
    title="TensorRT engine",
    launch=LaunchMode.GRAPH,
    epilogue=dict.fromkeys(
        (
            Kind.CONV,
            Kind.MATMUL,
            Kind.ELEMENTWISE,
            Kind.QUANTIZE,
            Kind.NORMALIZATION,
            Kind.SOFTMAX,
            Kind.REDUCTION,
        ),
        _POINTWISE,
    ),
    patterns=(
        "quantized",
        "attention",
        "conv_affine",
        "padded_conv",
        "activation",
        "skip_norm",
        "layer_norm",
        "rms_norm",
        "affine_norm",
        "joined_products",
    ),
    stores_integers=True,
    views=STRIDED,
    framework=Framework.TENSORRT,
    serving=Serving.TRTLLM,
    stands_for=frozenset({"cuda"}),
    devices=NVIDIA_GPU,
    is_versioned=True,
    aliases=("trt",),
    trains=False,
    # formats are chosen by layer, with algorithms that were timed
    launches=partial(rules, "tensorrt"),
    source="TensorRT developer guide, 'Layer fusion' and 'Q/DQ fusion': convolution and scale, "
    "pointwise, reduce and normalisation fusions; transpositions and slices join their readers",
)
