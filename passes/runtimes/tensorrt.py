"""TensorRT: convolutions and products with epilogues, pointwise chains, fused attention."""

from perfc.ir.op import Kind

from . import Launch, Runtime

_POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE})

TABLE = Runtime(
    name="tensorrt",
    title="TensorRT engine",
    launch=Launch.GRAPH,
    epilogue={
        Kind.CONV: _POINTWISE | {Kind.NORMALIZATION},
        Kind.MATMUL: _POINTWISE,
        Kind.ELEMENTWISE: _POINTWISE,
        Kind.QUANTIZE: _POINTWISE,
        Kind.NORMALIZATION: _POINTWISE,
        Kind.SOFTMAX: _POINTWISE,
        Kind.REDUCTION: _POINTWISE,
    },
    patterns=("activation", "layer_norm", "skip_layer_norm", "rms_norm", "attention", "quantized"),
    source="TensorRT developer guide, 'Layer fusion' and 'Q/DQ fusion' sections",
)
