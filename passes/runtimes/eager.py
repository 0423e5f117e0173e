"""A framework that runs operator by operator: one launch a node, strided views free."""

from functools import partial

from ..fusion.windows import WINDOWS
from . import STRIDED, Framework, LaunchMode, Layout, Runtime, Steps, Tf32
from ._launch_rules import rules
from ._list_limits import PYTORCH

TABLE = Runtime(
    name="eager",
    title="operator by operator, as an eager framework runs",
    launch=LaunchMode.EAGER,
    patterns=(
        "slice_update",
        "sdpa",
        "linear_bias",
        "activation",
        "layer_norm",
        "library_rms_norm",
        "affine_norm",
        "rsqrt",
    ),
    views=STRIDED | {WINDOWS},
    framework=Framework.TORCH,
    library="cuDNN",
    tf32=Tf32.CONVOLUTIONS,
    stands_for=frozenset({"cpu", "cuda"}),
    steps=Steps.EAGER,
    measured_as="eager",
    layouts=(Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST),
    formats=frozenset({"python", "pt2", "torch.export"}),
    aliases=("torch", "pytorch"),
    launches=partial(rules, "convolutions", "amd", "others", "products", "gradients"),
    lists=PYTORCH,
    source="PyTorch eager: one kernel an aten operator; exporters split GELU, SiLU, LayerNorm, "
    "RMSNorm, GroupNorm, Linear and scaled_dot_product_attention, which it runs as one each",
)
