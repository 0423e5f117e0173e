"""Pooling over sliding windows: maximum, average, p-norm, and the inverse of maximum pooling."""

from __future__ import annotations

from abc import abstractmethod

from perfc.errors import ShapeError

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Naturals,
    Op,
    Positives,
    Shape,
    TensorType,
    Traffic,
    Types,
    ceil_div,
    each_once,
    element_count,
    first_dtype,
    frozen,
    has,
    known,
    shape_at,
    single,
    tensor,
)
from ...problem import SlidingWindow
from ...problem.window import WindowOperation
from ...symbolic.fresh import data_extent
from ..movement.movement import unknown_extents
from ..quantized.quantized_matmul import REQUANTIZE
from .conv import InLayout, channels_first, in_layout
from .window import (
    of_windows,
    output_extent,
    pad_pairs,
    per_axis,
    result_shape,
    span_of,
    windows,
)


def _either_extent(
    d: Dim, defined: Dim, kernel: int, stride: int, dilation: int, *, ceil: bool
) -> Dim:
    """Return the extent for ``auto_pad`` SAME with dilation, bounded where implementations differ.

    ONNX and its reference say ceil(d/stride); ONNX Runtime pads for the kernel without its
    dilation and yields less.
    """
    # extent of the padded input for a kernel without dilation
    padded = (ceil_div(d, stride) - 1) * stride + kernel
    executed = windows(padded, span_of(kernel, dilation), stride, (0, 0), ceil=ceil)
    if executed == defined:
        return defined
    return data_extent(defined, executed if isinstance(executed, int) else 0)


@frozen
class Pool(InLayout):
    """A reduction of each window of each channel to one element.

    Shapes:  X[n, c, h, w] -> Y[n, c, p, q] with p = (h + pads - dilation*(r - 1) - 1)//stride + 1;
             with ``ceil_mode`` rounded up, unless the last window would start in the trailing
             pad; ceil(h/stride) where ``auto_pad`` is SAME. Any number of spatial axes.
    Work:    e results of t taps each, padding included: {alu}, {sfu}.
    Traffic: the positions of X that some window reads, Y once.
    Source:  ONNX MaxPool-22; onnx/onnx#5741 for windows in the trailing pad. With ``auto_pad``
             SAME and dilations ONNX and ONNX Runtime disagree; the extent is bounded by both.
    """

    kind = Kind.POOL
    operands = "X"
    formulas = {"alu": "e*(t*x + y)", "sfu": "e*(t*z + v)"}

    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: Positives = ()
    kernel_shape: Positives = ()
    pads: Naturals = ()
    strides: Positives = ()

    @property
    @abstractmethod
    def costs(self) -> tuple[int, int, int, int]:
        """Return vector operations per tap (x) and window (y), and special ones (z, v)."""

    def _axes(self, rank: int) -> list[tuple[int, int, int, tuple[int, int]]]:
        """Return kernel, stride, dilation and pads of each spatial axis."""
        if len(self.kernel_shape) != rank:
            raise ShapeError(f"kernel_shape {list(self.kernel_shape)} on {rank} spatial axes")
        strides = per_axis(self.strides, rank, 1, "strides")
        dilations = per_axis(self.dilations, rank, 1, "dilations")
        # VALID ignores explicit pads
        pads = pad_pairs(() if self.auto_pad == "VALID" else self.pads, rank)
        return list(zip(self.kernel_shape, strides, dilations, pads, strict=True))

    def _result(self, x: Shape | None) -> Shape:
        """Return the shape of the result as N, C, spatial."""
        if x is None:
            return (data_extent(), data_extent(), *unknown_extents(len(self.kernel_shape)))
        out: list[Dim] = list(x[:2])
        ceil = bool(self.ceil_mode)
        for d, (kernel, stride, dilation, pad) in zip(x[2:], self._axes(len(x) - 2), strict=True):
            span = span_of(kernel, dilation)
            extent = output_extent(d, span, stride, pad, self.auto_pad, ceil=ceil)
            # ONNX and ONNX Runtime disagree only in this case
            if self.auto_pad.startswith("SAME") and dilation > 1:
                extent = _either_extent(d, extent, kernel, stride, dilation, ceil=ceil)
            out.append(extent)
        return tuple(out)

    def infer(self, ins: Inputs) -> Types:
        source = shape_at(ins, 0)
        shape = self._result(channels_first(source, self.layout()))
        return single(self.result_dtype(ins), in_layout(shape, self.layout()))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = result_shape(outs)
        if shape is None:
            return {}
        x, y, z, v = self.costs
        taps = element_count(self.kernel_shape)
        return {"e": element_count(shape), "t": taps, "x": x, "y": y, "z": z, "v": v}

    def problem(self, ins: Inputs, outs: Types) -> SlidingWindow | None:
        x = channels_first(shape_at(ins, 0), self.layout())
        y = channels_first(result_shape(outs), self.layout())
        if x is None or y is None:
            return None
        kernels, strides, dilations, pads = zip(*self._axes(len(x) - 2), strict=True)
        return SlidingWindow(
            batch=x[0],
            in_channels=x[1],
            out_channels=y[1],
            in_extents=x[2:],
            out_extents=y[2:],
            extents=kernels,
            strides=strides,
            dilations=dilations,
            pads=pads,
            auto_pad=self.auto_pad,
            form=WindowOperation.POOL,
        )

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        source = tensor(ins, 0)
        x = channels_first(source.shape, self.layout())
        y = channels_first(result_shape(outs), self.layout())
        if x is None or y is None:
            return whole
        return of_windows(whole, source, x, y, self._axes(len(x) - 2), self.auto_pad)


@frozen
class MaxPool(Pool):
    """Maximum of each window, and its index.

    Shapes:  as Pool; Indices like Y.
    Work:    alu = e*(t - 1) comparisons.
    Traffic: as Pool; Indices once if they are requested.
    Source:  ONNX MaxPool-22.
    """

    mnemonic = "max_pool"
    onnx = "MaxPool com.microsoft.nchwc::MaxPool"
    costs = (1, -1, 0, 0)  # t taps take t - 1 comparisons

    storage_order: int = 0

    def infer(self, ins: Inputs) -> Types:
        (out,) = super().infer(ins)
        return out, TensorType(DType.I64, result_shape((out,)))


class NhwcMaxPool(MaxPool):
    """Maximum of each window; channels are the last axis.

    Source:  ONNX Runtime ContribOperators, NhwcMaxPool.
    """

    mnemonic = "nhwc_max_pool"
    onnx = "com.microsoft::NhwcMaxPool com.ms.internal.nhwc::MaxPool"
    operands = "x"
    is_nhwc = True


class MaxpoolWithMask(MaxPool):
    """Maximum of each window among unmasked elements.

    Shapes:  as Pool; M like X.
    Work:    alu = e*(2*t - 1): one comparison for the maximum, one for the mask.
    Traffic: as Pool, M once.
    Source:  ONNX Runtime ContribOperators, MaxpoolWithMask.
    """

    mnemonic = "max_pool_with_mask"
    onnx = "com.microsoft::MaxpoolWithMask"
    costs = (2, -1, 0, 0)
    operands = "X M"


@frozen
class AveragePool(Pool):
    """Mean of each window.

    Shapes:  as Pool.
    Work:    alu = e*t: t - 1 additions and a product with the reciprocal of the count.
    Traffic: as Pool.
    Source:  ONNX AveragePool-22.
    """

    mnemonic = "average_pool"
    onnx = "AveragePool com.microsoft.nchwc::AveragePool"
    costs = (1, 0, 0, 0)

    count_include_pad: int = 0


class NhwcAveragePool(AveragePool):
    """Mean of each window; channels are the last axis.

    Source:  ONNX Runtime, com.ms.internal.nhwc AveragePool.
    """

    mnemonic = "nhwc_average_pool"
    onnx = "com.ms.internal.nhwc::AveragePool"
    is_nhwc = True


@frozen
class QLinearAveragePool(AveragePool):
    """Mean of each window of 8-bit integers, requantized.

    Shapes:  as Pool.
    Work:    alu = e*(t + 4): the mean, then scale, round, add the zero point, clamp.
    Traffic: as Pool.
    Source:  ONNX Runtime ContribOperators, QLinearAveragePool.
    """

    mnemonic = "qlinear_average_pool"
    onnx = "com.microsoft::QLinearAveragePool com.ms.internal.nhwc::QLinearAveragePool"
    costs = (1, REQUANTIZE, 0, 0)
    operands = "X x_scale x_zero_point? y_scale y_zero_point?"

    channels_last: int = 0

    def layout(self) -> int:
        return self.channels_last


@frozen
class LpPool(Pool):
    """``p``-norm of each window.

    Shapes:  as Pool.
    Work:    alu = e*2*t (a power and an addition per tap), sfu = e for the root; with ``p`` 1 the
             power is an absolute value and there is no root; with ``p`` above 2 a power and the
             root are special functions: alu = e*2*t, sfu = e*(t + 1).
    Traffic: as Pool.
    Source:  ONNX LpPool-22.
    """

    mnemonic = "lp_pool"
    onnx = "LpPool"

    p: float = 2

    @property
    def costs(self) -> tuple[int, int, int, int]:
        # a power is a product for p = 2, a special function above; p = 1 has no root
        return 2, 0, int(self.p > 2), int(self.p != 1)


@frozen
class MaxUnpool(Op):
    """Elements at their original positions before MaxPool; zero elsewhere.

    Shapes:  X[n, c, h, w], I like X -> Y[n, c, p, q] with p = (h - 1)*stride - pads + r, or
             output_shape where it is given.
    Work:    {integer}, the writes of X's e elements by index; filling with zero is not work.
    Traffic: X and I once, output_shape once, Y once.
    Source:  ONNX MaxUnpool-22.
    """

    mnemonic = "max_unpool"
    onnx = "MaxUnpool"
    operands = "X I output_shape?"
    kind = Kind.POOL
    formulas = {"integer": "e"}

    kernel_shape: Positives = ()
    pads: Naturals = ()
    strides: Positives = ()

    def infer(self, ins: Inputs) -> Types:
        x, dtype = shape_at(ins, 0) or shape_at(ins, 1), first_dtype(ins, 0)
        rank = len(self.kernel_shape)
        if has(ins, 2):
            content = known(ins, 2)
            known_extents = (None,) * (rank + 2) if content is None else content.dims
            dims = tuple(data_extent() if d is None else d for d in known_extents)
            return single(dtype, dims)
        if x is None:
            return single(dtype, unknown_extents(rank + 2))
        if len(x) != rank + 2:
            raise ShapeError(f"kernel_shape {list(self.kernel_shape)} on an input of rank {len(x)}")
        strides = per_axis(self.strides, rank, 1, "strides")
        pads = pad_pairs(self.pads, rank)
        axes = zip(x[2:], strides, pads, self.kernel_shape, strict=True)
        # the smallest extent that MaxPool reduces to d
        spatial = ((d - 1) * stride - sum(pad) + r for d, stride, pad, r in axes)
        return single(dtype, (*x[:2], *spatial))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x = shape_at(ins, 0)
        return {} if x is None else {"e": element_count(x)}
