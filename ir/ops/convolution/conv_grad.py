"""Gradients of convolutions, one kernel for feature maps and one for filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    Dim,
    Extents,
    Inputs,
    Results,
    Shape,
    TensorType,
    Traffic,
    Types,
    frozen,
    shape_at,
    single,
    tensor,
)
from ...op import given
from ...problem import SlidingWindow
from ...problem.window import WindowOperation
from ...tensors.contents import elements
from ...traffic import moved, stored
from .conv import Conv, folded
from .conv_transpose import ConvTranspose
from .window import sliding

if TYPE_CHECKING:
    from ...gradients.tape import Tape


def like_gradient(_op: object, ins: Inputs) -> Types:
    """Return the type of a result computed from a gradient and the shape of the result."""
    return single(tensor(ins, 0).dtype, declared_shape(ins, 1))


def declared_shape(ins: Inputs, index: int) -> Shape | None:
    """Return the shape in the content of operand ``index``, None if unknown."""
    extents = elements(ins, index)
    numbers = tuple(d for d in extents or () if d is not None)
    return numbers if extents is not None and len(numbers) == len(extents) else None


@frozen
class ConvGrad(Conv):
    """Base of the two gradients of a convolution.

    Shapes:  dY[n, k, p, q] of the convolution's result; letters as Conv.
    Work:    {mac}: each product of the forward pass once more.
    Traffic: both operands once, the result once.
    """

    operands = "dY other shape"
    formulas = {"mac": "n*k*p*q*(c//g)*r*s"}
    added_at = ()

    def infer(self, ins: Inputs) -> Types:
        return single(self.result_dtype(ins), declared_shape(ins, 2))

    def sides(self, ins: Inputs, outs: Types) -> tuple[Shape | None, Shape | None]:
        """Return the shapes of the feature maps and of the filters."""
        raise NotImplementedError(f"{type(self).__name__}.sides")

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, w = self.sides(ins, outs)
        y = shape_at(ins, 0)
        if x is None or w is None or y is None:
            return {}
        (p, q), (r, s) = folded(y[2:]), folded(w[2:])
        letters = {"n": y[0], "c": w[1] * self.group, "k": y[1], "p": p, "q": q, "r": r, "s": s}
        return {**letters, "g": self.group}

    def window(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        """Return the window of the forward convolution."""
        e, (x, w), y = self.extents(ins, outs), self.sides(ins, outs), shape_at(ins, 0)
        if not e or x is None or w is None or y is None:
            return None
        return sliding(self, e, x, y, w[2:])

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        return self.window(ins, outs)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return moved([stored(tensor(ins, 0)), stored(tensor(ins, 1))], [stored(outs[0])])


@frozen
class ConvDataGrad(ConvGrad):
    """Gradient of the feature maps of a convolution: every element of dY spreads a filter.

    Shapes:  dY[n, k, p, q], W[k, c//g, r, s], shape[4], X -> dX of ``shape``, [n, c, h, w].
    Work:    {mac}, taps on padding included.
    Traffic: dY and W once, dX once. X is an operand, so it is saved, but it is not read.
    Source:  ONNX Runtime training, the first result of ConvGrad; arXiv:1603.07285 section 4;
             PyTorch, convolution_backward, which takes the operand for every gradient.
    """

    mnemonic = "conv_data_grad"
    operands = "dY W shape X"

    def sides(self, ins: Inputs, outs: Types) -> tuple[Shape | None, Shape | None]:
        x = outs[0].shape if isinstance(outs[0], TensorType) else None
        return x, shape_at(ins, 1)

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        forward = self.window(ins, outs)
        # a transposed convolution from dY to dX: channels and extents exchange roles
        return forward and forward._replace(
            in_channels=forward.out_channels,
            out_channels=forward.in_channels,
            in_extents=forward.out_extents,
            out_extents=forward.in_extents,
            form=WindowOperation.TRANSPOSED,
        )

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        window = self.window(ins, outs)
        assert window is not None
        rank = len(window.extents)
        pads = explicit_pads(window)
        uncovered: list[int] = []
        for axis in range(rank):
            remainder = (
                window.in_extents[axis] + pads[axis] + pads[axis + rank] - reach(window, axis)
            )
            assert isinstance(remainder, int)
            # where the stride does not divide, no window covers the last elements, whose gradient
            # is zero: `output_padding` adds them
            uncovered.append(remainder)
        op = ConvTranspose(
            group=self.group,
            dilations=window.dilations,
            strides=window.strides,
            pads=pads,
            output_padding=tuple(uncovered),
        )
        return (tape.apply(op, ins[0], ins[1]),)


@frozen
class ConvFilterGrad(ConvGrad):
    """Gradient of the filters of a convolution: X and dY correlated over the batch.

    Shapes:  dY[n, k, p, q], X[n, c, h, w], shape[4] -> dW of ``shape``, [k, c//g, r, s].
    Work:    {mac}, taps on padding included.
    Traffic: dY and X once, dW once.
    Source:  ONNX Runtime training, the second result of ConvGrad.
    """

    mnemonic = "conv_filter_grad"
    operands = "dY X shape"

    def sides(self, ins: Inputs, outs: Types) -> tuple[Shape | None, Shape | None]:
        w = outs[0].shape if isinstance(outs[0], TensorType) else None
        return shape_at(ins, 1), w

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        window = self.window(ins, outs)
        dy, x = given(ins, 0, 1)
        assert window is not None
        n, c, g, rank = window.batch, window.in_channels, self.group, len(window.extents)
        space = tuple(range(3, 3 + rank))
        # the sum is over the batch, so that batch and channels change places in X and dY; groups
        # of channels become groups of the batch
        split = tape.reshape(x, (n, g, c // g, *window.in_extents))
        maps = tape.transpose(split, (2, 1, 0, *space))
        maps = tape.reshape(maps, (c // g, g * n, *window.in_extents))
        filters = tape.transpose(dy, (1, 0, *range(2, 2 + rank)))
        op = Conv(
            group=g,
            pads=explicit_pads(window),
            # dY is the filter: the stride is the distance of its taps, the dilation that of results
            strides=window.dilations,
            dilations=window.strides,
        )
        # elements that no window covered give taps beyond the filter: cut off
        whole = tape.transpose(tape.apply(op, maps, filters), (1, 0, *range(2, 2 + rank)))
        return (tape.part(whole, {i + 2: (0, d) for i, d in enumerate(window.extents)}),)


def reach(window: SlidingWindow, axis: int) -> Dim:
    """Return the elements of an axis from the first window to the end of the last."""
    stride, dilation = window.strides[axis], window.dilations[axis]
    return (window.out_extents[axis] - 1) * stride + (window.extents[axis] - 1) * dilation + 1


def explicit_pads(window: SlidingWindow) -> tuple[int, ...]:
    """Return pads before each axis, then those after each, computed for ``auto_pad``.

    The extents of the window must be numbers.
    """
    extents = [d for d in window.in_extents if isinstance(d, int)]
    before = window.pads_before(extents)
    after: list[int] = []
    for axis, (leading, pad) in enumerate(zip(before, window.pads, strict=True)):
        if window.auto_pad == "NOTSET":
            after.append(pad[1])
            continue
        beyond = reach(window, axis) - extents[axis] - leading
        after.append(max(beyond, 0) if isinstance(beyond, int) else 0)
    return (*before, *after)
