"""Cumulative sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

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
    indices,
    known,
    known_ints,
    normal_axis,
    strides_of,
    tensor,
)
from ..elementwise import exact
from .arg_reduce import ArgMax


@frozen
class CumSum(Op):
    """Cumulative sum along an axis.

    Shapes:  x -> same shape.
    Work:    one operation per element (``f`` floats, ``i`` integers).
    Traffic: operands and result once.
    Source:  ONNX CumSum-14.
    """

    mnemonic = "cumsum"
    onnx = "CumSum"
    operands = "x axis"
    kind = Kind.REDUCTION
    formulas = {"alu": "f", "integer": "i"}
    exclusive: int = 0
    reverse: int = 0

    step: ClassVar[Callable[[Item, Item], Item]] = exact.add
    start = 0

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content, axes = known(ins, 0), known_ints(ins, 1)
        if content is None or axes is None or len(axes) != 1 or not content.shape:
            return ()
        axis, strides = normal_axis(axes[0], len(content.shape)), strides_of(content.shape)
        extent, stride = content.shape[axis], strides[axis]
        items = list(content.items)
        for index in indices(content.shape):
            # a line along the axis starts here
            if index[axis] == 0:
                start = sum(i * s for i, s in zip(index, strides, strict=True))
                line = slice(start, start + extent * stride, stride)
                items[line] = self._run(items[line], tensor(ins, 0).dtype)
        return (Known.of(content.shape, items),)

    def _run(self, line: list[Item], dtype: DType) -> list[Item]:
        """Return the cumulated elements of one line along the axis; None from an unknown one on."""
        total: Item = exact.fit(type(self).start, dtype)
        out: list[Item] = []
        for item in reversed(line) if self.reverse else line:
            before = total
            try:
                is_unknown = None in (total, item)
                total = None if is_unknown else exact.fit(type(self).step(total, item), dtype)
            except (ArithmeticError, TypeError, ValueError):
                total = None
            # exclusive: without the element itself
            out.append(before if self.exclusive else total)
        return out[::-1] if self.reverse else out

    # an operation per element of x, counted as float or integer by its type, as ArgMax counts
    extents = ArgMax.extents


class CumProd(CumSum):
    """Cumulative product along an axis. Source: ONNX CumProd-26."""

    mnemonic = "cumprod"
    onnx = "CumProd"
    step = exact.multiply
    start = 1
