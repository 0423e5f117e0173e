"""XLA, as JAX runs: loops fuse, library products and convolutions, command buffers of launches."""

from perfc.ir import Kind

from ..fusion.kernel import ConvAlgorithm, Helper
from . import STRIDED, LaunchMode, LaunchRule, RuleOperation, Runtime, inductor
from ._eager_launches import POINT
from ._launch_rules import HALF

_W, _TUNED = Helper.WEIGHT_LAYOUT, ConvAlgorithm.TUNED
_LAUNCHES = (
    LaunchRule(
        RuleOperation.CONVOLUTION,
        where=(POINT, ("stride", (1, 1))),
        algorithm=ConvAlgorithm.PRODUCT,
    ),
    # 3 channels are padded to 4 or 8
    LaunchRule(
        RuleOperation.CONVOLUTION, HALF, (("depth", (3, 3)),), (Helper.LAYOUT, _W), (), _TUNED
    ),
    # parameters come as [h, w, i, o]; cuDNN takes [o, h, w, i] or [o, i, h, w]
    LaunchRule(RuleOperation.CONVOLUTION, before=(_W,), algorithm=_TUNED),
    LaunchRule(RuleOperation.GROUPED, before=(_W,), algorithm=_TUNED),
    LaunchRule(RuleOperation.DEPTHWISE, before=(_W,), algorithm=ConvAlgorithm.DIRECT),
)

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
    launches=_LAUNCHES,
    aliases=("jax",),
    source="openxla/xla: layout_assignment.cc, cudnn_pad_for_convolutions.cc: layouts; "
    "debug_options_flags.cc: cuBLAS products, command buffers. Unchecked: which loops fuse, and "
    "which convolutions and products take their bias and activation along",
)
