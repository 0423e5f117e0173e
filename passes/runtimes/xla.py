"""XLA, as JAX runs: loops fuse, library products and convolutions, command buffers of launches."""

from functools import partial

from perfc.ir import Kind

from . import STRIDED, LaunchMode, Runtime, inductor
from ._launch_rules import rules

TABLE = Runtime(
    name="xla",
    title="XLA (jax.jit)",
    launch=LaunchMode.GRAPH,
    epilogue={
        **inductor.TABLE.epilogue,
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
    launches=partial(rules, "xla"),
    aliases=("jax",),
    source="openxla/xla: layout_assignment.cc, cudnn_pad_for_convolutions.cc: layouts; "
    "debug_options_flags.cc: cuBLAS products, command buffers. Unchecked: which loops fuse, and "
    "which convolutions and products take their bias and activation along",
)
