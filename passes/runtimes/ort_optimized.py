"""ONNX Runtime on CUDA with the graph that its transformers optimizer writes."""

from dataclasses import replace

from perfc.ir import Kind

from . import STRIDED, ort

TABLE = replace(
    ort.TABLE,
    name="ort-optimized",
    title="ONNX Runtime, graph of its transformers optimizer, CUDA",
    # SkipLayerNormalization and BiasGelu add the bias of the product before them
    epilogue={Kind.MATMUL: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={Kind.MATMUL: frozenset({"add"})},
    patterns=("attention", "joined_products", *ort.PATTERNS, "activation"),
    views=STRIDED,
    stands_for=frozenset(),
    aliases=(),
    measured_as=ort.TABLE.name,
    optimizes=ort.TABLE.name,
    source="onnxruntime/python/tools/transformers: fusion_attention.py (queries, keys and values "
    "as one product, biases and transpositions in Attention), fusion_skiplayernorm.py, "
    "fusion_biasgelu.py; attention as modules write it, not as torch exports "
    "scaled_dot_product_attention",
)
