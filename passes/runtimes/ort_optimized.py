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
    source="onnxruntime.transformers.optimizer 1.32, run on a BERT of 12 layers: 12 Attention "
    "(queries, keys and values as one product), 12 BiasGelu, 24 SkipLayerNormalization; attention "
    "as modules write it, not as torch exports scaled_dot_product_attention",
)
