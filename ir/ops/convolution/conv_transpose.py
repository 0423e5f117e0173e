"""Transposed convolutions: every input element spreads a filter over the output."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Inputs,
    Naturals,
    Positive,
    Positives,
    Shape,
    Types,
    dim_max,
    frozen,
    has,
    known,
    same,
    shape_at,
    single,
)
from ...problem import SlidingWindow
from ...problem.window import WindowOperation
from ...symbolic.fresh import data_extent
from ..movement.movement import unknown_extents
from .conv import FilteredMaps, channels_first, folded, in_layout
from .window import (
    kernel_extents,
    pad_pairs,
    per_axis,
    result_shape,
    sliding,
    span_of,
)


@frozen
class ConvTranspose(FilteredMaps):
    """Transposed (fractionally strided) convolution.

    Shapes:  X[n, c, h, w], W[c, k//g, r, s], B[k] -> Y[n, k, p, q] with
             p = stride*(h - 1) + output_padding + dilation*(r - 1) + 1 - pads, or
             ``output_shape``, or stride*h where ``auto_pad`` is SAME; also for one or three axes.
             In the formulas w, q and s are the last axis, h, p and r the product of those before.
    Work:    {mac}, each input element times each tap, those cut off by padding
             included; {alu} for the bias.
    Traffic: each operand once, Y once.
    Source:  ONNX ConvTranspose-22; arXiv:1603.07285 section 4.
    """

    mnemonic = "conv_transpose"
    onnx = "ConvTranspose"
    formulas = {"mac": "n*c*h*w*(k//g)*r*s", "alu": "n*k*p*q*x"}

    auto_pad: str = "NOTSET"
    dilations: Positives = ()
    group: Positive = 1
    kernel_shape: Positives = ()
    output_padding: Naturals = ()
    output_shape: tuple[int, ...] = ()
    pads: Naturals = ()
    strides: Positives = ()

    def pad_totals(self, ins: Inputs, rank: int) -> tuple[Dim, ...] | None:
        """Return pads of both sides together, None if unknown."""
        return tuple(a + b for a, b in pad_pairs(self.pads, rank))

    def _operands(self, ins: Inputs) -> tuple[Shape | None, Shape | None, Shape | None]:
        """Return the shapes of the feature maps, of the filters and of one filter."""
        x = channels_first(shape_at(ins, self.at[0]), self.layout())
        w = shape_at(ins, self.at[1])
        w = None if w is None or len(w) < 2 else w
        return x, w, kernel_extents(self.kernel_shape, w)

    def _spatial(self, ins: Inputs, x: Shape, kernel: Shape) -> Shape:
        """Return the extents of the result along the spatial axes."""
        rank = len(kernel)
        if len(x) != rank + 2:
            raise ShapeError(f"filters with {rank} spatial axes on an input of rank {len(x)}")
        if self.output_shape:
            if len(self.output_shape) < rank:
                raise ShapeError(f"output_shape has {len(self.output_shape)} of {rank} extents")
            return self._declared_extents(rank)
        strides = per_axis(self.strides, rank, 1, "strides")
        dilations = per_axis(self.dilations, rank, 1, "dilations")
        extra = per_axis(self.output_padding, rank, 0, "output_padding")
        pads = self.pad_totals(ins, rank)
        out: list[Dim] = []
        for i in range(rank):
            span = span_of(kernel[i], dilations[i]) + extra[i]
            if self.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
                # what a kernel has beyond its stride is cropped; one that is shorter than its
                # stride leaves the result shorter, too
                surplus = span - strides[i]
                out.append(x[i + 2] * strides[i] - dim_max(-surplus, 0))
            elif pads is None:
                # unknown pads: at most the extent without any
                out.append(data_extent((x[i + 2] - 1) * strides[i] + span))
            else:
                cut = 0 if self.auto_pad == "VALID" else pads[i]
                out.append((x[i + 2] - 1) * strides[i] + span - cut)
        # the pads crop more than the filters spread
        if any(isinstance(d, int) and d < 0 for d in out):
            raise ShapeError(f"pads leave extents {out}")
        return tuple(out)

    def _declared_extents(self, rank: int) -> Shape:
        """Return the spatial part of ``output_shape``, which may include batch and channels."""
        extents = self.output_shape[-rank:] if rank else ()
        if any(d < 0 for d in extents):
            raise ShapeError(f"output_shape states extents {list(extents)}")
        return extents

    def infer(self, ins: Inputs) -> Types:
        dtype = self.result_dtype(ins)
        x, w, kernel = self._operands(ins)
        if x and w and same(x[1], w[0]) is False:
            raise ShapeError(f"filters expect {w[0]} input channels, the input has {x[1]}")
        k = w[1] * self.group if w else data_extent()
        if x is None:
            if kernel is None:
                return single(dtype, None)
            shape: Shape = (data_extent(), k, *unknown_extents(len(kernel)))
        elif kernel is None:
            shape = (x[0], k, *unknown_extents(len(x) - 2))
        else:
            shape = (x[0], k, *self._spatial(ins, x, kernel))
        return single(dtype, in_layout(shape, self.layout()))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, _, kernel = self._operands(ins)
        y = channels_first(result_shape(outs), self.layout())
        if x is None or kernel is None or y is None:
            return {}
        (h, w), (p, q), (r, s) = folded(x[2:]), folded(y[2:]), folded(kernel)
        bias = self.epilogue(ins)[0]
        letters = {"n": x[0], "c": x[1], "h": h, "w": w, "k": y[1], "p": p, "q": q}
        return {**letters, "r": r, "s": s, "g": self.group, "x": bias}

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        (x, _, kernel), e = self._operands(ins), self.extents(ins, outs)
        y = channels_first(result_shape(outs), self.layout())
        if x is None or kernel is None or y is None:
            return None
        return sliding(self, e, x, y, kernel, WindowOperation.TRANSPOSED)


class NhwcConvTranspose(ConvTranspose):
    """ConvTranspose with channels as the last axis of X and Y.

    Source:  ONNX Runtime, com.ms.internal.nhwc ConvTranspose.
    """

    mnemonic = "nhwc_conv_transpose"
    onnx = "com.ms.internal.nhwc::ConvTranspose"
    is_nhwc = True


class ConvTransposeWithDynamicPads(ConvTranspose):
    """ConvTranspose whose pads are an operand.

    Shapes:  as ConvTranspose where the content of Pads is known, else bounded by no pads.
    Work:    as ConvTranspose.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime ContribOperators, ConvTransposeWithDynamicPads.
    """

    mnemonic = "conv_transpose_with_dynamic_pads"
    onnx = "com.microsoft::ConvTransposeWithDynamicPads"
    operands = "X W Pads? B?"
    added_at = (3,)

    def pad_totals(self, ins: Inputs, rank: int) -> tuple[Dim, ...] | None:
        if not has(ins, 2):
            return (0,) * rank
        content = known(ins, 2)
        pads = () if content is None else tuple(d for d in content.dims if d is not None)
        # the content of the pads is unknown, or a part of it
        if len(pads) != 2 * rank:
            return None
        return tuple(pads[i] + pads[i + rank] for i in range(rank))
