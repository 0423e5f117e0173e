"""Operators that make tensors from shapes and numbers alone."""

from __future__ import annotations

import math

from perfc.errors import ShapeError

from ... import (
    Dim,
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Op,
    Poly,
    Types,
    Work,
    ceil_div,
    count,
    dim_max,
    frozen,
    has,
    interval,
    known,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import elements, or_data, rounded, small_shape
from ...traffic import result_once, stored, unmoved


@frozen
class Shape(Op):
    """The operand's extents, from axis ``start`` up to ``end``.

    Shapes:  a vector with one element for each of these axes.
    Work:    none.
    Traffic: none; the shape is known without the data.
    Source:  ONNX Shape-25.
    """

    mnemonic = "shape"
    onnx = "Shape"
    operands = "data"
    kind = Kind.SHAPE
    start: int = 0
    end: int | None = None

    def _extents(self, ins: Inputs) -> tuple[Dim, ...] | None:
        """Return the selected extents; start and end are clamped as in Python."""
        shape = tensor(ins, 0).shape
        if shape is None:
            return None
        rank = len(shape)
        ends = [self.start, rank if self.end is None else self.end]
        first, last = (max(0, min(e + rank if e < 0 else e, rank)) for e in ends)
        return shape[first : max(first, last)]

    def infer(self, ins: Inputs) -> Types:
        extents = self._extents(ins)
        return single(DType.I64, (data_extent() if extents is None else len(extents),))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        extents = self._extents(ins)
        return () if extents is None else (Known.of((len(extents),), extents),)

    traffic = unmoved


class Size(Op):
    """The number of elements of the operand.

    Shapes:  a scalar.
    Work:    none.
    Traffic: none; the shape is known without the data.
    Source:  ONNX Size-25.
    """

    mnemonic = "size"
    onnx = "Size"
    operands = "data"
    kind = Kind.SHAPE

    def infer(self, ins: Inputs) -> Types:
        return single(DType.I64, ())

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        total = tensor(ins, 0).numel
        return () if total is None else (Known.of((), (total,)),)

    traffic = unmoved


@frozen
class Constant(Op):
    """A tensor stored in the model.

    Shapes:  those of the value; not known for one too large to be tracked.
    Work:    none.
    Traffic: none; whoever uses it reads it.
    Source:  ONNX Constant-25.
    """

    mnemonic = "constant"
    onnx = "Constant"
    kind = Kind.SHAPE
    value: Known | None = None
    value_dtype: DType = DType.UNKNOWN
    sparse_value: Known | None = None
    sparse_value_dtype: DType = DType.UNKNOWN
    value_int: int | None = None
    value_ints: tuple[int, ...] | None = None
    value_float: float | None = None
    value_floats: tuple[float, ...] | None = None
    value_string: str | None = None
    value_strings: tuple[str, ...] | None = None

    def _content(self) -> tuple[DType, Known | None]:
        """Return type and content of the one attribute that is given."""
        candidates: tuple[tuple[DType, Known | None], ...] = (
            (self.value_dtype, self.value),
            (self.sparse_value_dtype, self.sparse_value),
        )
        for dtype, tensor_ in candidates:
            if tensor_ is not None or dtype is not DType.UNKNOWN:
                return dtype, tensor_
        vectors = (
            (DType.I64, self.value_ints),
            (DType.F32, self.value_floats),
            (DType.STR, self.value_strings),
        )
        for dtype, vector in vectors:
            if vector is not None:
                return dtype, Known.vector(vector)
        scalars: tuple[tuple[DType, Item], ...] = (
            (DType.I64, self.value_int),
            (DType.F32, self.value_float),
            (DType.STR, self.value_string),
        )
        for dtype, scalar in scalars:
            if scalar is not None:
                return dtype, Known.scalar(scalar)
        return DType.UNKNOWN, None

    def infer(self, ins: Inputs) -> Types:
        dtype, content = self._content()
        return single(dtype, None if content is None else content.shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (self._content()[1],)

    traffic = unmoved


@frozen
class ConstantOfShape(Op):
    """A tensor of one value.

    Shapes:  the operand's content.
    Work:    none.
    Traffic: the result written once.
    Source:  ONNX ConstantOfShape-25; the default value is a float zero.
    """

    mnemonic = "constant_of_shape"
    onnx = "ConstantOfShape"
    operands = "input"
    kind = Kind.MOVEMENT
    formulas = {"write_bytes": "w"}
    value: Known | None = None
    value_dtype: DType = DType.F32

    def infer(self, ins: Inputs) -> Types:
        target = elements(ins, 0)
        if target is None:
            return single(self.value_dtype, None)
        if any(isinstance(w, int) and w < 0 for w in target):
            raise ShapeError(f"shape {list(target)} has a negative extent")
        return single(self.value_dtype, tuple(or_data(w) for w in target))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        shape = small_shape(outs[0])
        # without a value the elements are float zeros
        fill: Item = 0.0 if self.value_dtype is DType.F32 else None
        if self.value is not None:
            fill = self.value.item
        return () if shape is None else (Known.of(shape, (fill,) * math.prod(shape)),)

    traffic = result_once

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"w": stored(outs[0]) or 0}


def _extent_of(item: Item) -> Item:
    """Return a number as an extent if it is an integer."""
    return int(item) if isinstance(item, float) and item.is_integer() else item


@frozen
class Range(Op):
    """Numbers from ``start`` up to ``limit`` in steps of ``delta``.

    Shapes:  max(0, ceil((limit - start) / delta)) elements; floats are subtracted in their own
             width, as runtimes do.
    Work:    alu = e on floats, integer = e otherwise: one addition per element.
    Traffic: the result written once.
    Source:  ONNX Range-27.
    """

    mnemonic = "range"
    onnx = "Range com.microsoft::Range"
    operands = "start limit delta?"
    kind = Kind.MOVEMENT
    formulas = {"write_bytes": "w"}
    stash_type: int = 1

    def infer(self, ins: Inputs) -> Types:
        dtype = tensor(ins, 0).dtype
        start, limit, delta = self._numbers(ins)
        extent = self._extent(start, limit, delta, dtype)
        return single(dtype, (or_data(extent),))

    def _numbers(self, ins: Inputs) -> tuple[Item, Item, Item]:
        """Return start, limit and delta, of which the default is 1; None where unknown."""
        contents = [known(ins, i) for i in range(3)]
        items = [None if k is None else k.item for k in contents]
        return items[0], items[1], items[2] if has(ins, 2) else 1

    def _extent(self, start: Item, limit: Item, delta: Item, dtype: DType) -> Dim | None:
        """Return the number of elements of a range, None if unknown."""
        if delta == 0:
            raise ShapeError("delta is 0")
        if isinstance(start, int | float) and isinstance(limit, int | float):
            if not isinstance(delta, int | float):
                return 0 if start == limit else None  # empty, whatever the step
            if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
                # the negative of a floor: the quotient rounded up
                return max(0, -((start - limit) // delta))
            # half precision is subtracted in single precision
            distance = rounded(limit - start, DType.F32 if dtype is DType.F16 else dtype)
            quotient = distance / delta
            return max(0, math.ceil(quotient)) if math.isfinite(quotient) else None
        start, limit, delta = _extent_of(start), _extent_of(limit), _extent_of(delta)
        if not (isinstance(start, int | Poly) and isinstance(limit, int | Poly)):
            return None
        return self._symbolic(limit - start, delta)

    def _symbolic(self, distance: Dim, delta: Item) -> Dim | None:
        """Return the steps of a symbolic distance, None if the sign of ``delta`` is unknown."""
        if isinstance(delta, int):
            positive = distance if delta > 0 else -distance
            return dim_max(0, ceil_div(positive, abs(delta)))
        if isinstance(delta, Poly) and (interval(delta)[0] or 0) > 0:
            return dim_max(0, ceil_div(distance, delta))
        return None

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        shape = small_shape(outs[0])
        start, _, delta = self._numbers(ins)
        if shape is None:
            return ()
        dtype = tensor(ins, 0).dtype
        items: list[Item] = []
        for i in range(shape[0]):
            match start, delta:
                case (int() | Poly(), int() | Poly()):
                    items.append(start + delta * i)
                case (int() | float(), int() | float()):
                    items.append(rounded(start + i * delta, dtype))
                case _:
                    # of an unknown step only the first element is known
                    items.append(start if i == 0 else None)
        return (Known.of(shape, items),)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        e = count(outs[0])
        dtype = tensor(ins, 0).dtype
        return Work(integer=e) if dtype.is_integer else Work(alu=e)

    traffic = result_once

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "w": stored(outs[0]) or 0}
