"""Launches of eager PyTorch around the gradients of convolutions on GPUs.

Source: a step of ResNet-50 in TF32 on an A100 in a published trace, PyTorch 2 with cuDNN 8; its
backward pass has 151 changes of layout. 16-bit types and AMD by their forward passes.
"""

from __future__ import annotations

from math import inf

from ..fusion.kernel import Helper
from ._eager_launches import HEURISTIC, IN, LAST, ODD, OUT, PRODUCT, STRIDED, WIDE, M, W
from ._launch_rules import HALF, TF32, LaunchRule, RuleOperation

SUMS = Helper.SUMS
AREA, DEEP = ("pixels", (2, inf)), ("depth", (512, inf))
DATA, FILTERS = RuleOperation.DATA_GRADIENT, RuleOperation.FILTER_GRADIENT
UNALIGNED = ("alignment", (1, 4)), DEEP
COPIED = ("copied_weights", (1, 1))
GRADIENTS = (
    LaunchRule(DATA, HALF | TF32, (LAST, WIDE, COPIED), (W,), (), HEURISTIC),
    LaunchRule(DATA, HALF | TF32, (LAST,), (), (), HEURISTIC),
    LaunchRule(DATA, HALF | TF32, (WIDE,), (W, IN), (OUT,), HEURISTIC),
    LaunchRule(DATA, HALF | TF32, (STRIDED,), (W, IN), (OUT,), HEURISTIC),
    LaunchRule(DATA, HALF | TF32, (ODD, AREA, DEEP), (W, IN), (OUT,), HEURISTIC),
    LaunchRule(DATA, HALF | TF32, (), (), (), PRODUCT),
    LaunchRule(FILTERS, HALF | TF32, (LAST, WIDE, COPIED), (M,), (SUMS, W), HEURISTIC),
    LaunchRule(FILTERS, HALF | TF32, (LAST,), (M,), (SUMS,), HEURISTIC),
    LaunchRule(FILTERS, HALF | TF32, (WIDE,), (IN, IN, M), (SUMS, W), HEURISTIC),
    LaunchRule(FILTERS, HALF | TF32, (STRIDED,), (IN, IN, M), (SUMS,), HEURISTIC),
    LaunchRule(FILTERS, HALF | TF32, UNALIGNED, (IN, IN, M), (SUMS,), HEURISTIC),
    LaunchRule(FILTERS, HALF | TF32, (), (), (SUMS,), PRODUCT),
    LaunchRule(DATA, HALF, (WIDE,), (W, IN), (OUT,), HEURISTIC, "AMD"),
    LaunchRule(FILTERS, HALF, (WIDE,), (IN, IN, M), (W,), HEURISTIC, "AMD"),
)
