"""The gradient of resampling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import (
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Results,
    Shape,
    TensorType,
    Types,
    count,
    frozen,
    tensor,
)
from ...traffic import first_once
from ..contraction.matmul import MatMul
from ..convolution.conv_grad import declared_shape, like_gradient
from .resize import TAPS

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class ResizeGrad(Op):
    """Gradient of resampling: every element of dY is added to the neighbors it was computed from.

    Shapes:  dY of the resampled, shape -> dX of ``shape``.
    Work:    {alu}: t products and t - 1 additions for each of e elements; one addition for nearest.
    Traffic: dY once, dX once.
    Source:  ONNX Runtime training, ResizeGrad; PyTorch, upsample_*_backward.
    """

    mnemonic = "resize_grad"
    onnx = "com.microsoft::ResizeGrad"
    operands = "dY shape"
    kind = Kind.POOL
    formulas = {"alu": "e*(2*t - 1)"}
    mode: str = "nearest"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    scales: tuple[float, ...] = ()
    """Scale of every axis; the quotient of the extents if not given."""

    infer = like_gradient

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, y = declared_shape(ins, 1) or (), tensor(ins, 0).shape or ()
        resampled = sum(a != b for a, b in zip(x, y, strict=False))
        return {"e": count(tensor(ins, 0)), "t": int(TAPS.get(self.mode, 1) ** resampled)}

    traffic = first_once

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        gradient, target = ins[0], outs[0]
        assert gradient is not None
        assert isinstance(target, TensorType)
        shape: Shape = tensor(ins, 0).shape or ()
        rank = len(shape)
        for axis, (source, result) in enumerate(zip(target.shape or (), shape, strict=True)):
            if source == result:
                continue
            assert isinstance(source, int)
            assert isinstance(result, int)
            # extents are rounded: their quotient may differ from the scale of the model
            scale = self.scales[axis] if self.scales else result / source
            rows = [self.weights(i, source, result, scale) for i in range(result)]
            flat = tuple(row.get(j, 0.0) for row in rows for j in range(source))
            matrix = tape.constant(flat, (result, source), DType.F32)
            # the axis goes last, is multiplied by the matrix of weights, and goes back
            order = [*(i for i in range(rank) if i != axis), axis]
            moved_last = tape.apply(MatMul(), tape.transpose(gradient, order), matrix)
            gradient = tape.transpose(moved_last, [order.index(i) for i in range(rank)])
        return (gradient,)

    def position(self, i: int, source: int, result: int, scale: float) -> float:
        """Return the position in the operand of element ``i`` of the result."""
        match self.coordinate_transformation_mode:
            case "align_corners":
                return i * (source - 1) / (result - 1) if result > 1 else 0.0
            case "asymmetric":
                return i / scale
            case "pytorch_half_pixel" if result == 1:
                return 0.0
            case _:
                return (i + 0.5) / scale - 0.5

    def weights(self, i: int, source: int, result: int, scale: float) -> dict[int, float]:
        """Return the weight of each element of the operand in element ``i`` of the result."""
        x = self.position(i, source, result, scale)
        weights: dict[int, float] = {}
        for neighbor, part in self.taps(x, source):
            # neighbors outside are replaced by the element at the margin, which adds their weights
            inside = min(max(neighbor, 0), source - 1)
            weights[inside] = weights.get(inside, 0.0) + part
        return weights

    def taps(self, x: float, source: int) -> list[tuple[int, float]]:
        """Return the neighbors of a position, with their weights."""
        if self.mode == "nearest":
            rounded = {
                "round_prefer_floor": math.ceil(x - 0.5),
                "round_prefer_ceil": math.floor(x + 0.5),
                "floor": math.floor(x),
                "ceil": math.ceil(x),
            }
            return [(rounded[self.nearest_mode], 1.0)]
        # linear interpolation moves positions outside to the margin; cubic keeps them
        if self.mode == "linear":
            x = min(max(x, 0.0), source - 1.0)
        first = math.floor(x)
        t = x - first
        if self.mode == "linear":
            return [(first, 1 - t), (first + 1, t)]
        # Keys, Cubic convolution interpolation, 1981: pieces within one and two elements
        a = self.cubic_coeff_a

        def near(d: float) -> float:
            return ((a + 2) * d - (a + 3)) * d * d + 1

        def far(d: float) -> float:
            return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

        parts = (far(1 + t), near(t), near(1 - t), far(2 - t))
        return list(zip(range(first - 1, first + 3), parts, strict=True))
