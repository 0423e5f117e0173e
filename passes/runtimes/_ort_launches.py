"""Launches of cuDNN around the convolutions of ONNX Runtime on CUDA, whose feature maps are NCHW.

Source: onnxruntime core/providers/cuda/nn/conv.cc: the bias is a separate addition by default
(``fuse_conv_bias=0``), after depthwise convolutions too; cuDNN converts as for PyTorch. With
cuDNN 9 its heuristic chooses; before, ``cudnn_conv_algo_search=EXHAUSTIVE`` timed all algorithms.
contrib_ops/cuda/fused_conv.cc: with an activation, one call adds the bias as well.
"""

from __future__ import annotations

from dataclasses import replace

from ..fusion.kernel import ConvAlgorithm, Helper
from ._launch_rules import LaunchRule, rules


def launches() -> tuple[LaunchRule, ...]:
    """Return the rules of a recent release."""
    unbiased = [r.without(Helper.BIAS) for r in rules("convolutions")]
    # the first rule that matches holds: one call with a merged activation also adds the bias, all
    # other convolutions have an addition after them
    return (
        *(replace(r, where=(*r.where, ("merged", (1, 1)))) for r in unbiased),
        *(replace(r, after=(*r.after, Helper.BIAS)) for r in unbiased),
        *rules("products"),
    )


def timed() -> tuple[LaunchRule, ...]:
    """Return the rules of releases before cuDNN 9, which time all algorithms."""
    heuristic, by_timing = ConvAlgorithm.HEURISTIC, ConvAlgorithm.TUNED
    return tuple(
        [replace(r, algorithm=by_timing) if r.algorithm is heuristic else r for r in launches()]
    )
