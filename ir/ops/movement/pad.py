"""Operators that add or crop a margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    DType,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Op,
    Types,
    frozen,
    has,
    indices,
    interval,
    known,
    normal_axis,
    single,
    strides_of,
    tensor,
)
from ...tensors.contents import elements, or_data, small_shape
from ...traffic import first_taken
from .movement import unknown_extents


@frozen
class Pad(Op):
    """Padding of the operand; negative padding crops.

    Shapes:  extent + begin + end of each axis in ``axes`` (default all).
    Work:    none.
    Traffic: the operand read once, the result written once; no more is read than written.
    Source:  ONNX Pad-25.
    """

    mnemonic = "pad"
    onnx = "Pad com.microsoft::Pad"
    operands = "data pads constant_value? axes?"
    kind = Kind.MOVEMENT
    renamed: ClassVar[Mapping[str, str]] = {"value": "constant_value", "paddings": "pads"}
    mode: str = "constant"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        pads = elements(ins, 1)
        if data.shape is None:
            # two pads per axis give the rank, unless operand ``axes`` selects some axes
            ranked = pads is not None and not has(ins, 3)
            shape = unknown_extents(len(pads) // 2) if ranked and pads is not None else None
            return single(data.dtype, shape)
        axes = self._axes(ins, len(data.shape))
        if axes is None:
            return single(data.dtype, unknown_extents(len(data.shape)))
        if pads is None:
            pads = (None,) * (2 * len(axes))
        if len(pads) != 2 * len(axes):
            raise ShapeError(f"{len(pads)} pads for {len(axes)} axes")
        dims = list(data.shape)
        for i, axis in enumerate(axes):
            begin, end = pads[i], pads[i + len(axes)]
            extent = None if begin is None or end is None else dims[axis] + begin + end
            hi = None if extent is None else interval(extent)[1]
            if hi is not None and hi < 0:
                raise ShapeError(f"pads {begin} and {end} leave less than nothing of {dims[axis]}")
            dims[axis] = or_data(extent)
        return single(data.dtype, tuple(dims))

    def _axes(self, ins: Inputs, rank: int) -> list[int] | None:
        """Return the padded axes, None if they are unknown."""
        if not has(ins, 3):
            return list(range(rank))
        content = elements(ins, 3)
        if content is None or not all(isinstance(a, int) for a in content):
            return None
        return [normal_axis(a, rank) for a in content if isinstance(a, int)]

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, pads, shape = known(ins, 0), elements(ins, 1), small_shape(outs[0])
        if data is None or pads is None or shape is None:
            return ()
        # never None, as the extents of the result would be unknown
        axes = self._axes(ins, len(shape)) or []
        # only the pads before each axis: those at the end follow from the extents of the result
        begins = [0] * len(shape)
        for axis, begin in zip(axes, pads, strict=False):
            if not isinstance(begin, int):
                return ()
            begins[axis] = begin
        strides = strides_of(data.shape)
        fill = self._fill(ins)

        def at(index: tuple[int, ...]) -> Item:
            flat = 0
            for i, begin, extent, stride in zip(index, begins, data.shape, strides, strict=True):
                position = self._source(i - begin, extent)
                if position is None:
                    return fill
                flat += position * stride
            return data.items[flat]

        return (Known.of(shape, [at(index) for index in indices(shape)]),)

    def _fill(self, ins: Inputs) -> Item:
        """Return the constant of the margin, zero by default; None if unknown."""
        if has(ins, 2):
            value = known(ins, 2)
            return None if value is None else value.item
        dtype = tensor(ins, 0).dtype
        return False if dtype is DType.BOOL else 0.0 if dtype.is_float else 0

    def _source(self, position: int, extent: int) -> int | None:
        """Return the operand's position for ``position``, counted from the operand's first element.

        None stands for the constant of the margin.
        """
        if 0 <= position < extent:
            return position
        # an operand with no element to repeat, or to reflect at, gets the constant
        match self.mode:
            case "edge" if extent:
                return max(0, min(position, extent - 1))
            case "wrap" if extent:
                return position % extent
            case "reflect" if extent > 1:
                # back and forth without repeating the ends: a period of 2 * (extent - 1)
                position %= 2 * (extent - 1)
                return min(position, 2 * (extent - 1) - position)
            case _:
                return None

    traffic = first_taken


@frozen
class CenterCropPad(Op):
    """The operand cut or padded around its centre to given extents.

    Shapes:  ``shape`` on the axes in ``axes`` (default all).
    Work:    none.
    Traffic: no more of the operand read than the result has elements; the result written once.
    Source:  ONNX CenterCropPad-18.
    """

    mnemonic = "center_crop_pad"
    onnx = "CenterCropPad"
    operands = "input_data shape"
    kind = Kind.MOVEMENT
    axes: tuple[int, ...] | None = None

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        target = elements(ins, 1)
        if data.shape is None:
            shape = unknown_extents(len(target)) if target and self.axes is None else None
            return single(data.dtype, shape)
        rank = len(data.shape)
        axes = range(rank) if self.axes is None else [normal_axis(a, rank) for a in self.axes]
        if target is None:
            target = (None,) * len(axes)
        if len(target) != len(axes):
            raise ShapeError(f"{len(target)} extents for {len(axes)} axes")
        dims = list(data.shape)
        for axis, extent in zip(axes, target, strict=True):
            dims[axis] = or_data(extent)
        return single(data.dtype, tuple(dims))

    traffic = first_taken
