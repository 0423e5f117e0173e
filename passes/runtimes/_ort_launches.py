"""Launches of cuDNN around the convolutions of ONNX Runtime on CUDA, whose features lie NCHW.

Source: onnxruntime core/providers/cuda/nn/conv.cc: the bias is a separate addition by default
(``fuse_conv_bias=0``), after depthwise convolutions too; cuDNN converts as for PyTorch. cuDNN 9 is
uses its heuristic's choice; before, ``cudnn_conv_algo_search=EXHAUSTIVE`` timed all.
contrib_ops/cuda/fused_conv.cc: with an activation, one call adds the bias as well.
"""

from __future__ import annotations

from dataclasses import replace

from ..fusion.kernel import ConvAlgorithm, Helper
from ._launch_rules import LaunchRule, rules


def launches() -> tuple[LaunchRule, ...]:
    """Return the rules of a recent release."""
    plain = [r.without(Helper.BIAS) for r in rules("convolutions")]
    return (
        *(replace(r, where=(*r.where, ("merged", (1, 1)))) for r in plain),
        *(replace(r, after=(*r.after, Helper.BIAS)) for r in plain),
        *rules("products"),
    )


def timed() -> tuple[LaunchRule, ...]:
    """Return the rules with algorithms that were timed."""
    guess, best = ConvAlgorithm.HEURISTIC, ConvAlgorithm.TUNED
    return tuple([replace(r, algorithm=best) if r.algorithm is guess else r for r in launches()])
