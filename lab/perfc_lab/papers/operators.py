"""Names of operators that one-hot parts of nodes have, as many as TraPPM's (thesis, Figure 5.1)."""

from __future__ import annotations

from .networks.node_features import OTHER

VOCABULARY = (
    "abs", "add", "and", "argmax", "argmin", "attention", "average_pool", "batch_norm", "cast",
    "ceil", "celu", "clip", "col2im", "concat", "constant", "constant_of_shape", "conv",
    "conv_integer", "conv_transpose", "cos", "cumsum", "deform_conv", "depth_to_space",
    "dequantize_linear", "div", "einsum", "elu", "equal", "erf", "exp", "expand", "flatten",
    "floor", "gather", "gather_elements", "gather_nd", "gelu", "gemm", "global_average_pool",
    "global_max_pool", "greater", "grid_sample", "group_norm", "gru", "hard_sigmoid", "hard_swish",
    "hardmax", "identity", "instance_norm", "layer_norm", "leaky_relu", "less", "log",
    "log_softmax", "lrn", "lstm", "matmul", "matmul_integer", "max", "max_pool", "mean", "min",
    "mish", "mul", "neg", "non_zero", "not", "one_hot", "pad", "pow", "prelu", "qlinear_conv",
    "qlinear_matmul", "quantize_linear", "range", "reciprocal", "reduce_l2", "reduce_max",
    "reduce_mean", "reduce_sum", "relu", "reshape", "resize", "rms_norm", "scatter_nd", "sigmoid",
    "sin", "slice", "softmax", "softplus", "split", "sqrt", "squeeze", "sub", "tanh", "transpose",
    "unsqueeze", OTHER,
)  # fmt: skip
"""|O| = 98, of our operators."""
