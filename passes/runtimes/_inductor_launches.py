"""Launches of torch.compile around library kernels of its GPU code.

Source: torch/_inductor/kernel/conv.py: filters are copied to the order of the feature map on every
call unless they are frozen, and biases move to the loops that follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Kind, Numbers, Phase
from perfc.ir.ops.convolution.conv_grad import ConvGrad
from perfc.ir.problem import SlidingWindow

from ..fusion.kernel import Helper, Kernel
from ._launch_rules import LaunchRule, rules

MOST_NODES = 300
"""Nodes of a graph per convolution at which, and above which, feature maps keep their order."""
GROUPED_TIME, SMALL_TIME, NARROWING_TIME, OTHER_TIME = 1.358, 0.783, 0.725, 0.823
"""Mean time with channels last over that with channels first, by kind of convolution.

All constants of this file are from one function of TorchInductor, see `puts_last`.
"""
SMALL = 64
"""Maximum channels of a small convolution."""


def launches() -> tuple[LaunchRule, ...]:
    """Return the rules of the launches: TorchInductor's rules precede those of the libraries."""
    inherited = [rule.without(Helper.BIAS) for rule in rules("convolutions", "gradients", "amd")]
    return *rules("inductor"), *inherited, *rules("products")


def puts_last(kernels: Sequence[Kernel], at: Numbers) -> bool:
    """Return True if TorchInductor runs convolutions with channels last on NVIDIA's GPUs.

    Source: torch/_inductor/graph.py, ``decide_layout_opt``, PyTorch 2.13.
    """
    before = after = 0.0
    are_small: list[bool] = []
    has_slower = False
    for k in kernels:
        w = k.problem
        if k.kind is not Kind.CONV or not isinstance(w, SlidingWindow):
            continue
        # convolutions of the forward pass decide
        if isinstance(k.anchor.op, ConvGrad):
            continue
        depth, filters = at(w.depth), at(w.out_channels)
        is_grouped, is_small = w.groups > 1 and depth > 1, max(depth, filters) <= SMALL
        is_narrowing = 2 * filters <= depth and at(w.extents[0]) > 1
        kinds = (is_grouped, GROUPED_TIME), (is_small, SMALL_TIME), (is_narrowing, NARROWING_TIME)
        before += at(k.work.mac)
        # the first kind that holds decides the time
        after += at(k.work.mac) * next((time for holds, time in kinds if holds), OTHER_TIME)
        are_small.append(is_small)
        has_slower = has_slower or is_grouped or is_narrowing
    # only a few convolutions among many nodes
    if sum(len(k.nodes) for k in kernels) >= MOST_NODES * len(are_small):
        return False
    # in training, one convolution of a slower kind rules channels last out
    if any(k.anchor.loc.phase is Phase.BACKWARD for k in kernels):
        return not has_slower and not all(are_small)
    return after <= before
