"""What cuDNN launches around the convolutions of ONNX Runtime on CUDA, whose features lie NCHW.

Source: onnxruntime core/providers/cuda/nn/conv.cc: the bias is an addition of its own by default
(``fuse_conv_bias=0``), after depthwise convolutions too; cuDNN converts as for PyTorch.
contrib_ops/cuda/fused_conv.cc: with an activation, one call adds the bias as well.
"""

from __future__ import annotations

from dataclasses import replace

from ..fusion.kernel import Helper
from ._eager_launches import CONVOLUTIONS
from ._launch_rules import LaunchRule

_PLAIN = tuple(
    [replace(r, after=tuple(h for h in r.after if h is not Helper.BIAS)) for r in CONVOLUTIONS]
)
LAUNCHES: tuple[LaunchRule, ...] = (
    *(replace(r, where=(*r.where, ("merged", (1, 1)))) for r in _PLAIN),
    *(replace(r, after=(*r.after, Helper.BIAS)) for r in _PLAIN),
)
