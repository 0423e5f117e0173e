"""Paddle Inference's own kernels: convolutions with their normalisation, products with biases."""

from perfc.ir import Kind

from . import LaunchMode, Runtime

TABLE = Runtime(
    name="paddle",
    title="Paddle Inference, CUDA",
    launch=LaunchMode.EAGER,
    epilogue={Kind.CONV: frozenset({Kind.ELEMENTWISE})},
    epilogue_tags={Kind.CONV: frozenset({"relu", "add_relu"})},
    patterns=("add_relu", "conv_affine", "gemm", "gelu", "layer_norm"),
    # kernels and hosts are 40 % off the measured, each run of the same sizes by as much
    has_parts=False,
    formats=frozenset({"paddle"}),
    source="Paddle's IR passes for GPUs: conv_bn_fuse, conv_elementwise_add_act_fuse, fc_fuse",
)
