"""Launches of eager PyTorch around convolutions, normalizations and products on GPUs.

Source: PyTorch 2.11, cuDNN 9.19 on an H200: kernels of traces and nodes of CUDA graphs in
``datasets/h200``; pytorch aten/src/ATen/native/ConvUtils.h, cudnn/ConvShared.cpp. ``HEURISTIC``:
``cudnn.benchmark`` is off by default.
"""

from __future__ import annotations

from math import inf

from ..fusion.kernel import ConvAlgorithm, Helper
from ._launch_rules import F32, HALF, TF32, LaunchRule, RuleOperation

CONV, GROUPED, DEPTHWISE = RuleOperation.CONVOLUTION, RuleOperation.GROUPED, RuleOperation.DEPTHWISE
IN = OUT = Helper.LAYOUT
W, M, BIAS = Helper.WEIGHT_LAYOUT, Helper.FILL, Helper.BIAS
PRODUCT, HEURISTIC, DIRECT = ConvAlgorithm.PRODUCT, ConvAlgorithm.HEURISTIC, ConvAlgorithm.DIRECT

FIRST, LAST = ("channels_last", (0, 0)), ("channels_last", (1, 1))
IMAGE, BROAD = ("depth", (1, 4)), ("channels", (64, inf))
MEDIUM, LARGE = ("elements", (0.5e6, inf)), ("elements", (4.3e6, inf))
POINT, WIDE, WIDEST = ("window", (1, 1)), ("window", (2, inf)), ("window", (6, inf))
PATCH = ("window", (14, inf)), ("stride", (14 * 14, inf))
MULTIPLIED, FEW = ("filters", (2, inf)), ("batch", (2, 8))
SMALL, DEEP = ("elements", (0, 0.21e6)), ("channels", (256, inf))
STRIDED, ODD = ("stride", (2, inf)), ("alignment", (1, 1))
FOURTH, MANY, NARROW = ("alignment", (4, 4)), ("batch", (64, inf)), ("channels", (256, 320))

CONVOLUTIONS = (
    LaunchRule(CONV, HALF, (LAST, POINT), (), (BIAS,), PRODUCT),
    LaunchRule(CONV, TF32, (LAST, POINT, LARGE), (M,), (BIAS,), PRODUCT),
    LaunchRule(CONV, TF32, (LAST, POINT), (), (BIAS,), PRODUCT),
    LaunchRule(CONV, HALF | TF32, (LAST, ("copied_weights", (1, 1))), (W,), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF | TF32, (LAST,), (), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF, (IMAGE, PATCH[0], ("filters", (1, 511))), (), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF, (IMAGE, WIDEST), (M, IN, M, W), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, TF32, (*PATCH, LARGE), (IN, W, M), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, TF32, PATCH, (), (BIAS,), HEURISTIC),
    LaunchRule(CONV, TF32, (IMAGE, WIDEST), (IN, W), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF | TF32, (IMAGE,), (), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF, (WIDE, LARGE), (IN, W, M), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, HALF, (WIDE,), (IN, W), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, TF32, (WIDE, LARGE), (IN, W, M), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, TF32, (WIDE, MEDIUM, BROAD), (IN, W), (OUT, BIAS), HEURISTIC),
    LaunchRule(CONV, TF32, (WIDE, SMALL, DEEP), (IN, W, M), (BIAS,), HEURISTIC),
    LaunchRule(CONV, TF32, (WIDE,), (IN, W), (BIAS,), HEURISTIC),
    LaunchRule(CONV, HALF, (STRIDED, LARGE), (IN, M), (OUT, BIAS), PRODUCT),
    LaunchRule(CONV, HALF | TF32, (STRIDED,), (IN,), (OUT, BIAS), PRODUCT),
    LaunchRule(CONV, HALF, (("pixels", (1, 1)), ("batch", (16, inf))), (M,), (BIAS,), PRODUCT),
    LaunchRule(
        CONV, HALF, (ODD, ("depth", (512, inf)), ("batch", (16, inf))), (IN,), (OUT, BIAS), PRODUCT
    ),
    LaunchRule(
        CONV, TF32, (ODD, ("pixels", (2, inf)), ("depth", (512, inf))), (IN,), (OUT, BIAS), PRODUCT
    ),
    LaunchRule(CONV, HALF | TF32, (FOURTH, MANY, NARROW), (IN,), (OUT, BIAS), PRODUCT),
    LaunchRule(CONV, HALF | TF32, (), (), (BIAS,), ConvAlgorithm.PLANES),
    # filters are transformed before, as for Winograd's algorithm
    LaunchRule(
        CONV, F32, (WIDE, ("batch", (8, inf)), ("channels", (50, inf))), (W,), (BIAS,), HEURISTIC
    ),
    LaunchRule(
        CONV, F32, (WIDE, ("batch", (4, 7)), ("channels", (112, inf))), (W,), (BIAS,), HEURISTIC
    ),
    LaunchRule(CONV, F32, (), (), (BIAS,), HEURISTIC),
    LaunchRule(DEPTHWISE, HALF | TF32 | F32, (LAST,), (), (BIAS,), ConvAlgorithm.DIRECT_LAST),
    LaunchRule(DEPTHWISE, HALF, (FIRST, MULTIPLIED, FEW), (), (BIAS,), HEURISTIC, by_group=True),
    LaunchRule(DEPTHWISE, HALF, (), (), (BIAS,), DIRECT),
    LaunchRule(DEPTHWISE, TF32 | F32, (), (), (), DIRECT),
    LaunchRule(GROUPED, HALF, (), (IN, W, M), (OUT, BIAS), DIRECT),
    LaunchRule(GROUPED, TF32, (("filters", (48, inf)),), (M, IN, M, W, M), (OUT, BIAS), DIRECT),
    LaunchRule(GROUPED, TF32, (("batch", (1, 15)),), (IN, W), (OUT, BIAS), DIRECT),
    LaunchRule(GROUPED, TF32, (), (M, IN, M, W), (OUT, BIAS), DIRECT),
    LaunchRule(GROUPED, F32, (), (), (BIAS,), DIRECT),
)
AMD = (
    LaunchRule(CONV, HALF, (LAST,), (), (BIAS,), HEURISTIC, "AMD"),
    LaunchRule(CONV, HALF, (WIDE,), (IN, W, M), (OUT, BIAS), HEURISTIC, "AMD"),
    LaunchRule(CONV, HALF, (STRIDED,), (IN,), (OUT, BIAS), PRODUCT, "AMD"),
    LaunchRule(CONV, HALF, (), (), (BIAS,), PRODUCT, "AMD"),
    LaunchRule(CONV, frozenset(), (), (), (BIAS,), HEURISTIC, "AMD"),
    LaunchRule(DEPTHWISE, frozenset(), (), (), (BIAS,), DIRECT, "AMD"),
    LaunchRule(GROUPED, frozenset(), (), (), (BIAS,), DIRECT, "AMD"),
)
PRODUCTS = (
    # counters of products whose work is divided: cuBLAS and cuDNN on Hopper
    LaunchRule(
        RuleOperation.PRODUCT, HALF, (("tiles", (2.5, inf)), ("capability", (90, 90))), (M,)
    ),
    LaunchRule(RuleOperation.PRODUCT, TF32, (LARGE, ("capability", (90, 90))), (M,)),
    LaunchRule(RuleOperation.ATTENTION, HALF, (("capability", (90, 90)),), (M,)),
)
OTHERS = (
    LaunchRule(RuleOperation.BATCH_NORM, HALF, (), (Helper.STATISTICS, Helper.STATISTICS)),
    LaunchRule(RuleOperation.PAD, before=(M,)),
    LaunchRule(RuleOperation.PAD, before=(M,), maker="AMD"),
    # at::linear adds the bias inside of the product of dense operands only
    LaunchRule(RuleOperation.PRODUCT, where=(("strided", (1, 1)),), after=(BIAS,)),
)
LAUNCHES = (*CONVOLUTIONS, *AMD, *OTHERS, *PRODUCTS)
