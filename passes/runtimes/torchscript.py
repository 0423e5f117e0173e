"""TorchScript on a GPU: an eager framework's kernels, chains of pointwise operators as one."""

from functools import partial

from perfc.ir import Kind

from . import STRIDED, Framework, LaunchMode, Runtime, Tf32
from ._launch_rules import rules

TABLE = Runtime(
    name="torchscript",
    title="TorchScript, traced or scripted",
    launch=LaunchMode.EAGER,
    epilogue={Kind.ELEMENTWISE: frozenset({Kind.ELEMENTWISE})},
    patterns=("linear_bias", "activation", "layer_norm", "rms_norm", "affine_norm"),
    views=STRIDED,
    framework=Framework.TORCH,
    library="cuDNN",
    tf32=Tf32.CONVOLUTIONS,
    aliases=("torch-jit", "libtorch"),
    launches=partial(rules, "convolutions", "amd", "others", "products"),
    source="torch/csrc/jit: TensorExpr and NVFuser make one kernel of a chain of pointwise "
    "operators; products, convolutions and normalisations stay library calls",
)
