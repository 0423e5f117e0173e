"""Convolutions over any number of spatial axes, grouped, dilated, strided and padded."""

from __future__ import annotations

from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Naturals,
    Op,
    Poly,
    Positive,
    Positives,
    Shape,
    Traffic,
    Types,
    each_once,
    element_count,
    frozen,
    has,
    same,
    single,
    tensor,
)
from ...problem import SlidingWindow
from ...symbolic.dim import same_extents
from ...symbolic.fresh import data_extent
from ..contraction.epilogue import Epilogue
from ..movement.movement import unknown_extents
from .window import (
    kernel_extents,
    of_windows,
    output_extent,
    pad_pairs,
    per_axis,
    result_shape,
    sliding,
    span_of,
)


def channels_first(shape: Shape | None, channels_last: int) -> Shape | None:
    """Return a shape in N, C, spatial order; None if the rank is unknown or below 2."""
    if shape is None or len(shape) < 2:
        return None
    return (shape[0], shape[-1], *shape[1:-1]) if channels_last else shape


def in_layout(shape: Shape, channels_last: int) -> Shape:
    """Return a shape in N, C, spatial order in the order of the operator."""
    return (shape[0], *shape[2:], shape[1]) if channels_last else shape


@frozen
class InLayout(Op):
    """An operator on feature maps whose channels are the second or the last axis."""

    is_nhwc = False
    """True if channels are always the last axis."""

    def layout(self) -> int:
        """Return 1 if channels are the last axis of the feature maps, else 0."""
        return self.is_nhwc


def folded(extents: Shape) -> tuple[Dim, Dim]:
    """Return extents as two: the product of all but the last, and the last one."""
    return element_count(extents[:-1]), element_count(extents[-1:])


@frozen
class FilteredMaps(Epilogue, InLayout):
    """Products of feature maps with filters in windows."""

    operands = "X W B?"
    kind = Kind.CONV
    at: ClassVar[tuple[int, int]] = (0, 1)
    """Positions of the feature maps and of the filters among the operands."""
    typed_by: ClassVar[tuple[int, ...]] = (0, 1)
    added_at: ClassVar[tuple[int, ...]] = (2,)


@frozen
class Conv(FilteredMaps):
    """Convolution (cross-correlation) of feature maps with filters.

    Shapes:  X[n, c, h, w], W[k, c//g, r, s], B[k] -> Y[n, k, p, q] with
             p = (h + pads - dilation*(r - 1) - 1)//stride + 1, or ceil(h/stride) where
             ``auto_pad`` is SAME; likewise with one or three axes. In the formulas q and s are the
             last axis, p and r the product of those before it.
    Work:    {mac}, padded taps included; {alu} and {sfu}
             from the bias and fused operations.
    Traffic: the positions of X that some filter tap reads, the other operands once, Y once.
    Source:  ONNX Conv-22; arXiv:1603.07285 for the extents.
    """

    mnemonic = "conv"
    onnx = "Conv"
    formulas = {
        "mac": "n*k*p*q*(c//g)*r*s",
        "alu": "n*k*p*q*x",
        "sfu": "n*k*p*q*y",
    }

    auto_pad: str = "NOTSET"
    dilations: Positives = ()
    group: Positive = 1
    kernel_shape: Positives = ()
    pads: Naturals = ()
    strides: Positives = ()

    def maps(self, ins: Inputs) -> Shape | None:
        """Return the shape of the feature maps as N, C, spatial."""
        return channels_first(tensor(ins, self.at[0]).shape, self.layout())

    def filters(self, ins: Inputs) -> Shape | None:
        """Return the shape of the filters, None if the rank is unknown."""
        shape = tensor(ins, self.at[1]).shape
        return None if shape is None or len(shape) < 2 else shape

    def kernel(self, ins: Inputs) -> Shape | None:
        """Return the extents of the filters along the spatial axes."""
        return kernel_extents(self.kernel_shape, self.filters(ins))

    def _spatial(self, x: Shape, kernel: Shape) -> Shape:
        """Return the extents of the result along the spatial axes."""
        rank = len(kernel)
        if len(x) != rank + 2:
            raise ShapeError(f"filters with {rank} spatial axes on an input of rank {len(x)}")
        strides = per_axis(self.strides, rank, 1, "strides")
        dilations = per_axis(self.dilations, rank, 1, "dilations")
        pads = pad_pairs(self.pads, rank)
        spans = [span_of(kernel[i], dilations[i]) for i in range(rank)]
        for i, span in enumerate(spans):
            self._check_window(x[i + 2], span, pads[i])
        return tuple(
            output_extent(x[i + 2], spans[i], strides[i], pads[i], self.auto_pad, fits=True)
            for i in range(rank)
        )

    def _check_window(self, extent: Dim, span: Dim, pad: tuple[int, int]) -> None:
        """Raise a ShapeError if a window exceeds its padded input; symbols and 0 are accepted."""
        if isinstance(extent, Poly) or isinstance(span, Poly) or extent == 0:
            return
        room = extent if self.auto_pad == "VALID" else extent + sum(pad)
        # SAME pads as much as a window needs
        if room < span and not self.auto_pad.startswith("SAME"):
            raise ShapeError(f"a window of {span} does not fit into an extent of {extent}")

    def _result(self, ins: Inputs) -> Shape | None:
        """Return the shape of the result as N, C, spatial; None if its rank is unknown."""
        x, w, kernel = self.maps(ins), self.filters(ins), self.kernel(ins)
        self._check_channels(x, w)
        k = w[0] if w else data_extent()
        if x is None:
            return None if kernel is None else (data_extent(), k, *unknown_extents(len(kernel)))
        if kernel is None:
            return (x[0], k, *unknown_extents(len(x) - 2))
        return (x[0], k, *self._spatial(x, kernel))

    def _check_channels(self, x: Shape | None, w: Shape | None) -> None:
        """Raise a ShapeError if filters and feature maps have other numbers of channels."""
        if x and w and same(x[1], w[1] * self.group) is False:
            raise ShapeError(
                f"filters expect {w[1] * self.group} input channels ({self.group} groups of "
                f"{w[1]}), the input has {x[1]}"
            )

    def infer(self, ins: Inputs) -> Types:
        shape = self._result(ins)
        laid = None if shape is None else in_layout(shape, self.layout())
        return single(self.result_dtype(ins), laid)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, w, kernel = self.maps(ins), self.filters(ins), self.kernel(ins)
        y = channels_first(result_shape(outs), self.layout())
        if kernel is None or y is None or (x is None and w is None):
            return {}
        # by the filters, whose extents are numbers even where those of the feature maps are symbols
        c = w[1] * self.group if w else x[1] if x else 0
        (p, q), (r, s), (alu, sfu) = folded(y[2:]), folded(kernel), self.epilogue(ins)
        letters = {"n": y[0], "c": c, "k": y[1], "p": p, "q": q, "r": r, "s": s}
        return {**letters, "g": self.group, "x": alu, "y": sfu}

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        e, kernel = self.extents(ins, outs), self.kernel(ins)
        if not e or kernel is None:
            return None
        x, y = self.maps(ins), channels_first(result_shape(outs), self.layout()) or ()
        return sliding(self, e, x or (), y, kernel)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        x, kernel = self.maps(ins), self.kernel(ins)
        y = channels_first(result_shape(outs), self.layout())
        if x is None or kernel is None or y is None:
            return whole
        rank = len(kernel)
        strides = per_axis(self.strides, rank, 1, "strides")
        dilations = per_axis(self.dilations, rank, 1, "dilations")
        pads = pad_pairs(() if self.auto_pad == "VALID" else self.pads, rank)
        axes = zip(kernel, strides, dilations, pads, strict=True)
        return of_windows(whole, tensor(ins, self.at[0]), x, y, axes, self.auto_pad)


@frozen
class FusedConv(Conv):
    """Convolution, the addition of Z and an activation.

    Shapes:  as Conv; Z like Y.
    Work:    as Conv; x and y include the addition of Z and the operations of ``activation``.
    Traffic: as Conv, Z once.
    Source:  ONNX Runtime ContribOperators, FusedConv.
    """

    mnemonic = "fused_conv"
    onnx = "com.microsoft::FusedConv"
    operands = "X W B? Z?"
    added_at = (2, 3)

    activation: str = ""
    activation_params: tuple[float, ...] = ()


class NhwcConv(Conv):
    """Convolution with channels as the last axis of X and Y.

    Shapes:  filters W[k, r, s, c//g], or as in Conv where only that fits.
    Source:  ONNX Runtime ContribOperators, NhwcConv; transformers/fusion_nhwc_conv.py, which
             produces it, puts the channels of filters last.
    """

    mnemonic = "nhwc_conv"
    onnx = "com.microsoft::NhwcConv"
    is_nhwc = True

    def filters(self, ins: Inputs) -> Shape | None:
        w, x = super().filters(ins), self.maps(ins)
        if w is None:
            return None
        # channels second, as in Conv, only if channels and kernel_shape agree with that
        is_first = x is not None and same(x[1], w[1] * self.group) is True
        fits = not self.kernel_shape or same_extents(w[2:], self.kernel_shape)
        return w if is_first and fits else (w[0], w[-1], *w[1:-1])


class NhwcFusedConv(FusedConv):
    """FusedConv with channels as the last axis of X, Y and Z; filters as in Conv.

    Source:  ONNX Runtime ContribOperators, NhwcFusedConv.
    """

    mnemonic = "nhwc_fused_conv"
    onnx = "com.microsoft::NhwcFusedConv com.ms.internal.nhwc::Conv"
    is_nhwc = True


@frozen
class DeformConv(Conv):
    """Convolution that samples its input at learned offsets, optionally weighted by a mask.

    Shapes:  X[n, c, h, w], W[k, c//g, r, s], offset[n, 2*o*r*s, p, q] -> Y[n, k, p, q], with o
             groups of offsets; p and q as in Conv.
    Work:    {mac}; {alu}: x operations to sample a
             tap, by linear interpolation between 2^d corners (for d = 2: 4 products of weights,
             4 products, 3 additions) and 1 for the mask; y = 1 for the bias.
    Traffic: each operand once, Y once. Offsets may leave parts of X unread; that is not known.
    Source:  ONNX DeformConv-22; arXiv:1703.06211, arXiv:1811.11168.
    """

    mnemonic = "deform_conv"
    onnx = "DeformConv"
    operands = "X W offset B? mask?"
    formulas = {"mac": "n*k*p*q*(c//g)*r*s", "alu": "n*c*p*q*r*s*x + n*k*p*q*y"}

    offset_group: Positive = 1

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        letters = super().extents(ins, outs)
        if not letters:
            return {}
        rank = len(self.kernel(ins) or ())
        # ranks come from a file: 2^rank is limited
        corners = 1 << min(rank, 8)
        # a weight is a product of a factor per axis, so rank - 1 products for each corner; then a
        # product and a sum for each corner but the first, and one for the mask
        sampling = corners * max(rank - 1, 0) + 2 * corners - 1 + int(has(ins, 4))
        return {**letters, "x": sampling, "y": int(has(ins, 3))}

    traffic = Op.traffic
