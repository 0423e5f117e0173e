"""XLA, as JAX runs: loops fuse, library products and convolutions, command buffers of launches."""

from perfc.ir import Kind

from . import STRIDED, LaunchMode, Runtime

_POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.QUANTIZE, Kind.MOVEMENT, Kind.RANDOM})
_LOOPS = _POINTWISE | {Kind.NORMALIZATION, Kind.REDUCTION, Kind.SOFTMAX}

TABLE = Runtime(
    name="xla",
    title="XLA (jax.jit)",
    launch=LaunchMode.GRAPH,
    epilogue={
        Kind.ELEMENTWISE: _LOOPS,
        Kind.MOVEMENT: _LOOPS,
        Kind.QUANTIZE: _LOOPS,
        Kind.NORMALIZATION: _LOOPS,
        Kind.REDUCTION: _LOOPS,
        Kind.SOFTMAX: _POINTWISE,
        Kind.GATHER: _LOOPS,
        Kind.RANDOM: _LOOPS,
        Kind.CONV: frozenset({Kind.ELEMENTWISE}),
        Kind.MATMUL: frozenset({Kind.ELEMENTWISE}),
    },
    epilogue_tags={
        Kind.CONV: frozenset({"add", "relu", "add_relu"}),
        Kind.MATMUL: frozenset({"add", "relu", "gelu"}),
    },
    patterns=("slice_update", "add_relu"),
    views=STRIDED,
    keeps_shared=True,
    formats=frozenset({"stablehlo"}),
    trains=False,
    aliases=("jax",),
    source="openxla/xla: instruction fusion and multi-output fusion of loops; gpu/transforms/"
    "cudnn_fused_conv_rewriter.cc, gemm_rewriter.cc: bias and activation join convolutions and "
    "cuBLASLt products; debug_options_flags.cc: command buffers, no cuDNN attention by default",
)
