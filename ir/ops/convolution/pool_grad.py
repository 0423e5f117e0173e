"""Gradients of pools: additions to the elements of each window."""

from __future__ import annotations

from itertools import product as combinations
from math import prod
from typing import TYPE_CHECKING

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Naturals,
    Op,
    Positives,
    Results,
    TensorType,
    Types,
    Value,
    count,
    element_count,
    frozen,
    single,
    tensor,
)
from ...op import given, with_attributes
from ...traffic import first_once
from ..movement.scatter import ScatterElements
from .conv_grad import ConvGrad, declared_shape, explicit_pads, like_gradient
from .conv_transpose import ConvTranspose
from .pool import AveragePool

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class PoolGrad(Op):
    """Gradient of a pool, added into zeros.

    Shapes:  dY of the pool's result, and the shape of its operand -> dX of that shape.
    Work:    {alu}: an addition for each of t taps of the e elements of dY.
    Traffic: dY and saved values once, dX once.
    """

    kind = Kind.POOL
    formulas = {"alu": "e*t"}

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 0)), "t": 1}


@frozen
class MaxPoolGrad(PoolGrad):
    """Gradient of maximum pooling: dY at the positions of the maxima.

    Shapes:  dY[n, c, p, q], Indices like dY, shape, X -> dX of ``shape``.
    Work:    {alu} with t = 1.
    Traffic: dY and Indices once, dX once. X is handed over, so that it is saved, and not read.
    Source:  ONNX Runtime training, com.microsoft MaxPoolGrad; PyTorch,
             max_pool2d_with_indices_backward, which takes the operand for its shape.
    """

    mnemonic = "max_pool_grad"
    onnx = "com.microsoft::MaxPoolGrad"
    operands = "dY Indices shape X"

    def infer(self, ins: Inputs) -> Types:
        return single(tensor(ins, 0).dtype, declared_shape(ins, 2))

    traffic = ConvGrad.traffic

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, indices = given(ins, 0, 1)
        assert isinstance(outs[0], TensorType)
        shape, flat_shape = outs[0].shape or (), (count(tensor(ins, 0)),)
        zeros = tape.zeros((element_count(shape),), outs[0].dtype)
        flat = tape.reshape(indices, flat_shape), tape.reshape(dy, flat_shape)
        added = tape.apply(ScatterElements(axis=0, reduction="add"), zeros, *flat)
        return (tape.reshape(added, shape),)


@frozen
class AveragePoolGrad(PoolGrad):
    """Gradient of average pooling: dY divided among the positions of its window.

    Shapes:  dY[n, c, p, q], shape, X -> dX of ``shape``.
    Work:    {alu} with the t taps of a window.
    Traffic: dY once, dX once. X is handed over, so that it is saved, and not read.
    Source:  ONNX Runtime training, com.microsoft AveragePoolGrad; PyTorch, avg_pool2d_backward,
             which takes the operand for its shape.
    """

    mnemonic = "average_pool_grad"
    onnx = "com.microsoft::AveragePoolGrad"
    operands = "dY shape X"
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    count_include_pad: int = 0
    dilations: Positives = ()
    kernel_shape: Positives = ()
    pads: Naturals = ()
    strides: Positives = ()

    infer = like_gradient

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 0)), "t": prod(self.kernel_shape)}

    traffic = first_once

    def forward(self) -> AveragePool:
        """Return the forward operator."""
        return with_attributes(AveragePool, self)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, target = ins[0], outs[0]
        assert dy is not None
        assert isinstance(target, TensorType)
        assert target.shape is not None
        operand = Value("X", target)
        window = self.forward().problem((operand,), (tensor(ins, 0),))
        assert window is not None
        rank, pads = len(window.extents), explicit_pads(window)
        # an expansion is of static shapes
        numbers = [d for d in (*window.in_extents, *window.out_extents) if isinstance(d, int)]
        source, result = numbers[:rank], numbers[rank:]
        # by axis: 1 / the elements of each window, elements behind the last window, and where the
        # operand lies on the padded axis
        factors: list[list[float]] = []
        extra: list[int] = []
        slices: dict[int, tuple[Dim, Dim]] = {}
        for i in range(rank):
            k, s, d = self.kernel_shape[i], window.strides[i], window.dilations[i]
            # a mean is over the elements of its window that count: those of the operand, which
            # begin at its first pad, or those of the padded axis, which begin at 0
            counted = source[i] + (pads[i] + pads[i + rank] if self.count_include_pad else 0)
            first = 0 if self.count_include_pad else pads[i]
            taps = [
                sum(0 <= o * s + t * d - first < counted for t in range(k))
                for o in range(result[i])
            ]
            # a window of pads alone has no element to divide among
            factors.append([1 / max(t, 1) for t in taps])
            # the last window may end before the operand does
            reach = (result[i] - 1) * s + (k - 1) * d + 1
            end = source[i] + pads[i]
            extra.append(max(end - reach, 0))
            slices[i + 2] = (pads[i], end)
        scale = [prod(row) for row in combinations(*factors)]
        weights = tape.constant(tuple(scale), (1, 1, *result), target.dtype)
        n, c = target.shape[:2]
        # channels count as images, so that one filter serves all
        quotients = tape.reshape(tape.mul(dy, weights), (n * c, 1, *result))
        # a filter of ones adds each quotient to all elements of its window
        ones = tape.constant(
            (1.0,) * prod(self.kernel_shape), (1, 1, *self.kernel_shape), target.dtype
        )
        sums = tape.apply(
            ConvTranspose(strides=window.strides, dilations=window.dilations), quotients, ones
        )
        if any(extra):
            from ..movement.pad import Pad

            margin = tape.ints((0, 0, *(0 for _ in extra), 0, 0, *extra))
            sums = tape.apply(Pad(), sums, margin)
        return (tape.reshape(tape.part(sums, slices), target.shape),)
