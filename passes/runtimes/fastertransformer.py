"""FasterTransformer: hand-written transformer layers, as a library or as TensorRT's plugins."""

from dataclasses import replace

from . import Framework
from .tensorrt import TABLE as TENSORRT

TABLE = replace(
    TENSORRT,
    name="fastertransformer",
    title="FasterTransformer, or its plugins in TensorRT",
    framework=Framework.OTHER,
    is_versioned=False,
    stands_for=frozenset(),
    aliases=("ft", "tensorrt-plugin"),
    source="FasterTransformer 5: fused attention, products with cuBLASLt epilogues, residual and "
    "normalisation as one kernel",
)
