"""ONNX Runtime with all graph optimisations on its CUDA provider."""

from perfc.ir.op import Kind

from . import Launch, Runtime

TABLE = Runtime(
    name="ort",
    title="ONNX Runtime, all graph optimisations",
    launch=Launch.EAGER,
    epilogue={
        Kind.CONV: frozenset({Kind.NORMALIZATION, Kind.ELEMENTWISE, Kind.QUANTIZE}),
        Kind.MATMUL: frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE}),
        Kind.QUANTIZE: frozenset({Kind.QUANTIZE}),
    },
    epilogue_ops={
        Kind.CONV: frozenset(
            {
                "batch_normalization", "relu", "leaky_relu", "sigmoid", "tanh", "clip",
                "hard_sigmoid", "add", "mul", "quantize_linear", "dequantize_linear",
            }
        ),
        Kind.MATMUL: frozenset(
            {"add", "mul", "div", "fast_gelu", "relu", "quantize_linear", "dequantize_linear"}
        ),
    },
    patterns=("activation", "layer_norm", "skip_layer_norm", "rms_norm", "attention", "quantized"),
    max_nodes=12,
    source="onnxruntime graph optimisations: ConvBNFusion, ConvAddActivationFusion, MatMulAddFusion, "
    "GeluFusion, BiasGeluFusion, LayerNormFusion, SkipLayerNormFusion, AttentionFusion, QDQ selectors",
)
