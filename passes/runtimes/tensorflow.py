"""TensorFlow's graph executor without XLA: one kernel an operator, biases and activations fused."""

from perfc.ir import Kind

from . import LaunchMode, Runtime

_ACTIVATIONS = frozenset({"relu", "clip", "elu", "leaky_relu"})

TABLE = Runtime(
    name="tensorflow",
    title="TensorFlow graph executor, CUDA",
    launch=LaunchMode.EAGER,
    epilogue={Kind.CONV: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={Kind.CONV: _ACTIVATIONS},
    patterns=("conv_affine", "gemm", "gelu", "layer_norm"),
    formats=frozenset({"tensorflow"}),
    aliases=("tf", "tf1", "tf2"),
    source="TensorFlow's remapper: _FusedConv2D, _FusedMatMul and _FusedBatchNormEx; XLA off",
)
