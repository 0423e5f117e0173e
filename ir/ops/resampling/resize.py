"""Resampling along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.errors import ShapeError

from ... import (
    Attributes,
    Dim,
    DType,
    Extents,
    Inputs,
    Item,
    Kind,
    Op,
    Poly,
    TensorType,
    Traffic,
    Types,
    count,
    frozen,
    has,
    known,
    normal_axis,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import elements, or_data, rounded
from ...traffic import lesser, moved, packed, stored
from ..movement.movement import unknown_extents

TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
"""Neighbours read along each axis."""


def scaled_extent(extent: Dim, scale: Item) -> Dim | None:
    """Return ``floor(extent * scale)`` in single precision, as runtimes compute it.

    Raises:
        ShapeError: the scale is not a finite number above zero.
    """
    if isinstance(scale, int | float) and not 0 < scale < math.inf:
        raise ShapeError(f"a scale of {scale:g}")
    match scale:
        # a symbolic scale is whole, so that nothing is rounded
        case Poly():
            return extent * scale
        case int() | float() if isinstance(extent, int):
            return math.floor(rounded(rounded(float(extent), DType.F32) * scale, DType.F32))
        case int() | float():
            return scaled_exactly(extent, float(scale))
        case _:
            return None


def scaled_exactly(extent: Dim, scale: float) -> Dim:
    """Return ``floor(extent * scale)`` for symbolic extents, with the exact fraction."""
    from fractions import Fraction

    # A scale is a quotient of two extents, such as 1/3, and rounded in the file. The nearest
    # fraction restores it; no image has an extent above 2^20.
    exact = Fraction(scale).limit_denominator(1 << 20)
    return extent * exact.numerator // exact.denominator


class Resampling(Op):
    """Interpolation of elements from neighbors of the operand, axis by axis.

    Shapes:  as each operator says.
    Work:    alu = e * o with e the elements of the result and o = 2 * taps - 1 operations each,
             taps = 2**k (linear) or 4**k (cubic) for k resampled axes, o = 0 for nearest; the
             weights, and the wider filter of ``antialias``, are not counted.
    Traffic: the operand read once, or only the neighbours of the result's elements if these are
             fewer, as in strong reduction; the result written once.
    Source:  ONNX Resize-19.
    """

    kind = Kind.POOL
    formulas = {"alu": "e*o"}
    mode: str = "nearest"

    def _taps(self, ins: Inputs, outs: Types) -> int:
        """Return the elements of the operand that an element of the result is computed from."""
        x, y = tensor(ins, 0).shape, outs[0]
        if x is None or not isinstance(y, TensorType) or y.shape is None:
            return 1
        resampled = sum(a != b for a, b in zip(x, y.shape, strict=False))
        return int(TAPS.get(self.mode, 1) ** resampled)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        x, y = tensor(ins, 0), outs[0]
        touched = y.numel if isinstance(y, TensorType) else None
        if touched is not None:
            touched = touched * self._taps(ins, outs)
        read = packed(None if x.numel is None else lesser(x.numel, touched), x.dtype)
        return moved([read], [stored(y)])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # a product per tap and the additions between
        operations = 0 if self.mode == "nearest" else 2 * self._taps(ins, outs) - 1
        return {"e": count(outs[0]), "o": operations}


@frozen
class Resize(Resampling):
    """Resampling by scales or to sizes.

    Shapes:  with scales floor(extent * scale) in single precision; with sizes these, or with
             ``keep_aspect_ratio_policy`` round(extent * s), s the smallest (not_larger) or largest
             (not_smaller) of size / extent. Axes not in ``axes`` stay.
    """

    mnemonic = "resize"
    onnx = "Resize com.ms.internal.nhwc::Resize"
    operands = "X roi? scales? sizes?"
    antialias: int = 0
    axes: tuple[int, ...] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"
    version: int = 19
    """10 for the first form, whose second operand is the scales."""

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Mark the first form."""
        return {**attrs, "version": 10} if version < 11 else attrs

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        # positions of these operands; -1 for none
        scales, sizes = (1, -1) if self.version < 11 else (2, 3)
        if x.shape is None:
            # scales or sizes, one per axis, give the rank
            listed = next((e for i in (scales, sizes) if (e := self._given(ins, i))), None)
            ranked = listed is not None and self.axes is None
            return single(x.dtype, unknown_extents(len(listed or ())) if ranked else None)
        rank = len(x.shape)
        axes = range(rank) if self.axes is None else [normal_axis(a, rank) for a in self.axes]
        extents = [x.shape[a] for a in axes]
        new = self._resampled(ins, extents, scales, sizes)
        dims = list(x.shape)
        for axis, extent in zip(axes, new, strict=True):
            dims[axis] = extent
        return single(x.dtype, tuple(dims))

    def _given(self, ins: Inputs, index: int) -> Sequence[Item] | None:
        """Return elements of scales or sizes, () if not given, None if their number is unknown."""
        if index < 0 or not has(ins, index):
            return ()
        content = known(ins, index)
        return elements(ins, index) if content is None else content.items

    def _resampled(self, ins: Inputs, extents: list[Dim], scales: int, sizes: int) -> list[Dim]:
        """Return the extents after resampling, by scales if given, else to sizes."""
        factors, extents_after = self._given(ins, scales), self._given(ins, sizes)
        if factors:
            if len(factors) != len(extents):
                raise ShapeError(f"{len(factors)} scales for {len(extents)} axes")
            return [or_data(scaled_extent(d, s)) for d, s in zip(extents, factors, strict=True)]
        if not extents_after:
            return [data_extent() for _ in extents]
        if len(extents_after) != len(extents):
            raise ShapeError(f"{len(extents_after)} sizes for {len(extents)} axes")
        targets = [s if isinstance(s, int | Poly) else None for s in extents_after]
        if self.keep_aspect_ratio_policy == "stretch":
            return [or_data(w) for w in targets]
        return self._in_proportion(extents, targets)

    def _in_proportion(self, extents: list[Dim], wanted: Sequence[int | Poly | None]) -> list[Dim]:
        """Return the extents at one scale for all axes: the largest or the smallest wanted."""
        is_larger = self.keep_aspect_ratio_policy != "not_larger"
        pairs = [
            (d, w)
            for d, w in zip(extents, wanted, strict=True)
            if isinstance(d, int) and isinstance(w, int) and d > 0
        ]
        # Some extent is unknown, and so is the common scale. Without ``not_larger`` an extent may
        # exceed the size that is wanted of it, which is then no upper bound.
        if len(pairs) < len(extents):
            return [data_extent(None if is_larger else w) for w in wanted]
        ratios = [rounded(w / d, DType.F32) for d, w in pairs]
        scale = max(ratios) if is_larger else min(ratios)
        # halves are rounded up
        return [math.floor(rounded(scale * d, DType.F32) + 0.5) for d, _ in pairs]


@frozen
class Upsample(Resampling):
    """Resampling by scales.

    Shapes:  floor(extent * scale) in single precision.
    Source:  ONNX Upsample-10.
    """

    mnemonic = "upsample"
    onnx = "Upsample"
    operands = "X scales"
    mode: str = "nearest"

    def infer(self, ins: Inputs) -> Types:
        x, content = tensor(ins, 0), known(ins, 1)
        scales = elements(ins, 1) if content is None else content.items
        if x.shape is None:
            shape = None if scales is None else unknown_extents(len(scales))
            return single(x.dtype, shape)
        if scales is None:
            return single(x.dtype, unknown_extents(len(x.shape)))
        if len(scales) != len(x.shape):
            raise ShapeError(f"{len(scales)} scales for rank {len(x.shape)}")
        dims = tuple(or_data(scaled_extent(d, s)) for d, s in zip(x.shape, scales, strict=True))
        return single(x.dtype, dims)
