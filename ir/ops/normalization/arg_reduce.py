"""Index of the largest or smallest element along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ... import (
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Known,
    Op,
    Types,
    count,
    frozen,
    known,
    single,
    tensor,
)
from ..elementwise import exact
from ..elementwise.elementwise import is_integral
from .reduce import grouped, reduced_axes, reduced_shape


@frozen
class ArgMax(Op):
    """Index of the largest element along ``axis``.

    Shapes:  data -> the axis has extent 1, or is removed without ``keepdims``; 64-bit integers.
    Work:    one comparison for each of the elements read (``f`` floats, ``i`` integers).
    Traffic: data and result once.
    Source:  ONNX ArgMax-13.
    """

    mnemonic = "argmax"
    onnx = "ArgMax"
    operands = "data"
    kind = Kind.REDUCTION
    formulas = {"alu": "f", "integer": "i"}
    axis: int = 0
    keepdims: int = 1
    select_last_index: int = 0

    better: ClassVar[Callable[[Item, Item], Item]] = exact.greater

    def infer(self, ins: Inputs) -> Types:
        shape = tensor(ins, 0).shape
        if shape is None:
            return single(DType.I64, None)
        axes = reduced_axes([self.axis], len(shape))
        return single(DType.I64, reduced_shape(shape, axes, self.keepdims))

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content = known(ins, 0)
        if content is None:
            return ()
        axes = reduced_axes([self.axis], len(content.shape))
        shape = reduced_shape(content.shape, axes, self.keepdims)
        indices = [self._index(group) for group in grouped(content, axes)]
        return (Known.of([d for d in shape if isinstance(d, int)], indices),)

    def _index(self, items: list[Item]) -> Item:
        """Return the position of the best element, None if unknown or if symbols do not decide."""
        if not items or None in items:
            return None
        best = 0
        better = type(self).better
        for position, item in enumerate(items[1:], 1):
            try:
                wins, ties = better(item, items[best]), exact.equal(item, items[best])
            except TypeError:
                # strings, and other elements without an order
                return None
            if wins is None or ties is None:
                return None
            # of equal elements the first counts, unless the last is selected
            if wins or (ties and self.select_last_index):
                best = position
        return best

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        e, integral = count(tensor(ins, 0)), is_integral(tensor(ins, 0).dtype)
        return {"f": 0 if integral else e, "i": e if integral else 0}


class ArgMin(ArgMax):
    """Index of the smallest element along ``axis``. Source: ONNX ArgMin-13."""

    mnemonic = "argmin"
    onnx = "ArgMin"
    better = exact.less
