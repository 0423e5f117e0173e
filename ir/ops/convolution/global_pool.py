"""Pooling of each channel to one element."""

from __future__ import annotations

from ... import Extents, Inputs, Kind, Shape, Types, dim_max, element_count, frozen, single, tensor
from ..quantized.quantized_matmul import REQUANTIZE
from .conv import InLayout, channels_first, in_layout


@frozen
class GlobalPool(InLayout):
    """A reduction of all spatial positions of each channel to one element.

    Shapes:  X[n, c, spatial] -> Y[n, c, 1, ...].
    Work:    t positions a channel: {alu}, {sfu}.
    Traffic: each operand once, Y once.
    Source:  ONNX GlobalAveragePool-22.
    """

    kind = Kind.POOL
    operands = "X"
    formulas = {"alu": "n*c*(t*x + y)", "sfu": "n*c*(t*z + v)"}

    @property
    def costs(self) -> tuple[int, int, int, int]:
        """Return vector operations per position (x) and channel (y), and special ones (z, v)."""
        return 1, 0, 0, 0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape is None or len(x.shape) < 2:
            return (x,)
        last = self.layout()
        n, c, *rest = channels_first(x.shape, last) or x.shape
        pooled: Shape = (n, c, *(1 for _ in rest))
        return single(x.dtype, in_layout(pooled, last))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = channels_first(tensor(ins, 0).shape, self.layout())
        if shape is None:
            return {}
        x, y, z, v = self.costs
        # an empty channel has a result too
        taps = dim_max(element_count(shape[2:]), 1)
        return {"n": shape[0], "c": shape[1], "t": taps, "x": x, "y": y, "z": z, "v": v}


class GlobalAveragePool(GlobalPool):
    """Mean of each channel.

    Work:    alu = n*c*t: t - 1 additions and a product with the reciprocal of t.
    Source:  ONNX GlobalAveragePool-22.
    """

    mnemonic = "global_average_pool"
    onnx = "GlobalAveragePool com.microsoft.nchwc::GlobalAveragePool"


class NhwcGlobalAveragePool(GlobalAveragePool):
    """Mean of each channel; channels are the last axis.

    Source:  ONNX Runtime, com.ms.internal.nhwc GlobalAveragePool.
    """

    mnemonic = "nhwc_global_average_pool"
    onnx = "com.ms.internal.nhwc::GlobalAveragePool"
    is_nhwc = True


class GlobalMaxPool(GlobalPool):
    """Maximum of each channel.

    Work:    alu = n*c*(t - 1) comparisons.
    Source:  ONNX GlobalMaxPool-22.
    """

    mnemonic = "global_max_pool"
    onnx = "GlobalMaxPool com.microsoft.nchwc::GlobalMaxPool"
    costs = (1, -1, 0, 0)  # t positions take t - 1 comparisons


class NhwcGlobalMaxPool(GlobalMaxPool):
    """Maximum of each channel; channels are the last axis.

    Source:  ONNX Runtime, com.ms.internal.nhwc GlobalMaxPool.
    """

    mnemonic = "nhwc_global_max_pool"
    onnx = "com.ms.internal.nhwc::GlobalMaxPool"
    is_nhwc = True


@frozen
class GlobalLpPool(GlobalPool):
    """``p``-norm of each channel.

    Work:    alu = n*c*2*t (a power and an addition per position), sfu = n*c for the root; ``p`` 1
             needs no root; with ``p`` above 2 powers are special functions too.
    Source:  ONNX GlobalLpPool-22.
    """

    mnemonic = "global_lp_pool"
    onnx = "GlobalLpPool"

    p: float = 2

    @property
    def costs(self) -> tuple[int, int, int, int]:
        # a power is a product for p = 2, a special function above; p = 1 has no root
        return 2, 0, int(self.p > 2), int(self.p != 1)


@frozen
class QLinearGlobalAveragePool(GlobalPool):
    """Mean of each channel of 8-bit integers, requantized.

    Work:    alu = n*c*(t + 4): the mean, then scale, round, add the zero point, clamp.
    Source:  ONNX Runtime ContribOperators, QLinearGlobalAveragePool.
    """

    mnemonic = "qlinear_global_average_pool"
    onnx = "com.microsoft::QLinearGlobalAveragePool"
    costs = (1, REQUANTIZE, 0, 0)
    operands = "X x_scale x_zero_point y_scale y_zero_point"

    channels_last: int = 0

    def layout(self) -> int:
        return self.channels_last
