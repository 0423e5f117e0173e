"""LiteRT, formerly TensorFlow Lite, with its XNNPACK delegate on a CPU."""

from perfc.ir import Kind

from . import CPU, Framework, LaunchMode, Runtime

_CLAMPS = frozenset({"relu", "clip"})

TABLE = Runtime(
    name="litert",
    title="LiteRT (TFLite) with XNNPACK",
    launch=LaunchMode.EAGER,
    epilogue=dict.fromkeys(
        (Kind.CONV, Kind.MATMUL, Kind.ELEMENTWISE, Kind.POOL), frozenset({Kind.ELEMENTWISE})
    ),
    epilogue_tags=dict.fromkeys((Kind.CONV, Kind.MATMUL, Kind.ELEMENTWISE, Kind.POOL), _CLAMPS),
    patterns=("quantized", "gemm", "padded_conv"),
    stores_integers=True,
    framework=Framework.LITERT,
    stands_for=frozenset({"cpu"}),
    devices=CPU,
    formats=frozenset({"tflite"}),
    trains=False,
    aliases=("tflite", "xnnpack"),
    source="tflite/delegates/xnnpack/README.md: convolutions, fully connected layers, additions "
    "and pooling with fused RELU, RELU6 and RELU_N1_TO_1; register.cc: on by default",
)
