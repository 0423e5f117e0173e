"""Launches of torch.compile around library kernels of its GPU code.

Source: torch/_inductor/graph.py ``decide_layout_opt``: feature maps have their channels last on
NVIDIA GPUs; kernel/conv.py: filters are copied to that order on every call unless they are frozen,
biases move to the loops that follow, and convolutions with a window of 1 become products.
"""

from __future__ import annotations

from ..fusion.kernel import Algorithm, Helper
from ._eager_launches import AMD, IMAGE, POINT, PRODUCTS
from ._launch_rules import LaunchRule, Operation

CONV, GROUPED, DEPTHWISE = Operation.CONVOLUTION, Operation.GROUPED, Operation.DEPTHWISE
IN, W = Helper.LAYOUT, Helper.WEIGHT_LAYOUT
HEURISTIC, DIRECT = Algorithm.HEURISTIC, Algorithm.DIRECT
LAUNCHES = (
    LaunchRule(CONV, where=(IMAGE,), before=(IN, W), algorithm=HEURISTIC),
    LaunchRule(CONV, where=(POINT,), algorithm=Algorithm.PRODUCT),
    LaunchRule(CONV, before=(W,), algorithm=HEURISTIC),
    LaunchRule(GROUPED, before=(W,), algorithm=DIRECT),
    LaunchRule(DEPTHWISE, algorithm=DIRECT),
    *[rule.without(Helper.BIAS) for rule in AMD],
    *PRODUCTS,
)
