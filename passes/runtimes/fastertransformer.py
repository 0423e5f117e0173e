"""FasterTransformer: hand-written transformer layers, as a library or as TensorRT's plugins."""

from dataclasses import replace

from perfc.ir import Kind

from . import AttentionKernels, Framework
from .tensorrt import TABLE as TENSORRT

_POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE})

TABLE = replace(
    TENSORRT,
    name="fastertransformer",
    title="FasterTransformer, or its plugins in TensorRT",
    epilogue={
        Kind.CONV: _POINTWISE,
        Kind.ELEMENTWISE: _POINTWISE | {Kind.NORMALIZATION, Kind.SOFTMAX},
        Kind.NORMALIZATION: _POINTWISE,
        Kind.SOFTMAX: _POINTWISE,
    },
    keeps_shared=True,
    framework=Framework.OTHER,
    is_versioned=False,
    # cuBLASLt's products of integers in tiles of 32 columns, not what an engine chose by timing
    stores_integers=False,
    attention=AttentionKernels(most_bits=16, most_keys=384),
    stands_for=frozenset(),
    aliases=("ft", "tensorrt-plugin"),
    source="FasterTransformer 5, layers/FfnLayer.cc, attention_layers/UnfusedAttentionLayer.cc: "
    "library products of queries, keys and values as one, then kernels that add the bias and "
    "transpose, add it and activate, add it and the residual and normalise, or mask and take the "
    "softmax; BaseAttentionLayer.h, getAttentionType: attention is fused in f16 and int8 up to 384 "
    "keys",
)
