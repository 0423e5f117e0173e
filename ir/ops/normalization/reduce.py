"""Reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

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
    Shape,
    TensorType,
    Types,
    count,
    dim_max,
    frozen,
    has,
    indices,
    interval,
    known,
    known_ints,
    normal_axis,
    single,
    strides_of,
    tensor,
)
from ...symbolic.fresh import data_extent
from ..elementwise import exact
from ..elementwise.elementwise import is_integral


def reduced_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, sorted and unique; a scalar may be reduced over 0 or -1.

    Raises:
        ShapeError: an axis is outside the rank.
    """
    if rank == 0 and all(a in (0, -1) for a in axes):
        return ()
    return tuple(sorted({normal_axis(a, rank) for a in axes}))


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: int) -> Shape:
    """Return ``shape`` with ``axes`` (counted from the front) of extent 1, or removed."""
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def _one_or(extent: Dim) -> Dim:
    """Return an extent that is ``extent`` or 1."""
    if extent == 1:
        return 1
    lo = interval(extent)[0]
    return data_extent(dim_max(extent, 1), 0 if lo is None or lo < 1 else 1)


def _linear(*terms: tuple[int, str]) -> str:
    """Return a sum of counts times letters as a formula, without zero terms."""
    return " + ".join(x if n == 1 else f"{n}*{x}" for n, x in terms if n)


@frozen
class Reduce(Op):
    """A reduction of the elements along ``axes``, all of them if none are given.

    Shapes:  data -> the axes have extent 1, or are left out without ``keepdims``.
    Work:    ``alu_per_element`` and ``sfu_per_element`` for each of the ``e`` elements read,
             ``alu_per_result`` and ``sfu_per_result`` for each of the ``r`` results; integer
             operations (``i`` elements, ``j`` results) where data are integers.
    Traffic: data and result once.
    Source:  ONNX ReduceSum-13, Reduce*-18; accumulation counts one operation per element.
    """

    operands = "data axes?"
    kind = Kind.REDUCTION
    keepdims: int = 1
    noop_with_empty_axes: int = 0

    alu_per_element = 1
    sfu_per_element = 0
    alu_per_result = 0
    sfu_per_result = 0

    def __init_subclass__(cls) -> None:
        """Derive the formulas from the counts per element and result, and register."""
        if "mnemonic" in cls.__dict__:
            alu, sfu = cls.alu_per_element, cls.sfu_per_element
            more_alu, more_sfu = cls.alu_per_result, cls.sfu_per_result
            derived = {
                "alu": _linear((alu, "e"), (more_alu, "r")),
                "sfu": _linear((sfu, "e"), (more_sfu, "r")),
                # integers have no special functions: all count as integer operations
                "integer": _linear((alu + sfu, "i"), (more_alu + more_sfu, "j")),
            }
            cls.formulas = {unit: formula for unit, formula in derived.items() if formula}
        super().__init_subclass__()

    def axes(self, ins: Inputs, rank: int) -> tuple[int, ...] | None:
        """Return the reduced axes, None if unknown."""
        if has(ins, 1) and tensor(ins, 1).shape != (0,):
            content = known_ints(ins, 1)
            return None if content is None else reduced_axes(content, rank)
        # without axes all are reduced, or none if the attribute says so
        return () if self.noop_with_empty_axes else tuple(range(rank))

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        return single(data.dtype, self._shape(data.shape, ins))

    def _shape(self, shape: Shape | None, ins: Inputs) -> Shape | None:
        """Return the shape of the result, with unknown extents if the axes are unknown."""
        if shape is None:
            # of an unknown rank only a reduction to a scalar has a known shape
            reduces_all = not has(ins, 1) and not self.noop_with_empty_axes
            return () if reduces_all and not self.keepdims else None
        axes = self.axes(ins, len(shape))
        if axes is not None:
            return reduced_shape(shape, axes, self.keepdims)
        # the axes are unknown, but perhaps their number is not
        axes_shape = tensor(ins, 1).shape
        how_many = axes_shape[0] if axes_shape is not None and len(axes_shape) == 1 else None
        if how_many == len(shape) == 1:
            return reduced_shape(shape, (0,), self.keepdims)
        if self.keepdims:
            return tuple(_one_or(d) for d in shape)
        # runtimes accept an axis named twice, so the number of reduced axes may be smaller
        return _some_of(shape, len(shape) - 1) if how_many == 1 else None

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content, out = known(ins, 0), outs[0]
        if content is None or not isinstance(out, TensorType):
            return ()
        axes = self.axes(ins, len(content.shape))
        if axes is None:
            return ()
        dtype = out.dtype
        groups = grouped(content, axes)
        shape = reduced_shape(content.shape, axes, self.keepdims)
        items = [self._reduced(group, dtype) for group in groups]
        return (Known.of([d for d in shape if isinstance(d, int)], items),)

    def _reduced(self, items: list[Item], dtype: DType) -> Item:
        """Return the element of the result that these elements are reduced to; None if unknown."""
        if None in items:
            return None
        try:
            return exact.fit(self.reduce_items([exact.fit(i, dtype) for i in items], dtype), dtype)
        except (ArithmeticError, TypeError, ValueError):
            return None

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        """Return the reduction of the elements of one result; ValueError if it is undetermined."""
        raise ValueError("not folded")

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        e, r = count(tensor(ins, 0)), count(outs[0])
        if is_integral(tensor(ins, 0).dtype):
            return {"e": 0, "r": 0, "i": e, "j": r}
        return {"e": e, "r": r, "i": 0, "j": 0}


def _some_of(shape: Shape, rank: int) -> Shape:
    """Return ``rank`` extents of ``shape``, unknown which; known if all extents are equal."""
    if all(d == shape[0] for d in shape[1:]):
        return shape[:rank]
    # any axis may be reduced, so each remaining extent may be any one of the shape
    numbers = [d for d in shape if isinstance(d, int)]
    hi = max(numbers) if len(numbers) == len(shape) else None
    lo = min(numbers) if len(numbers) == len(shape) else 0
    return tuple(data_extent(hi, lo) for _ in range(rank))


def grouped(content: Known, axes: Sequence[int]) -> list[list[Item]]:
    """Return elements of ``content`` grouped by their result, row-major."""
    remaining = [d for i, d in enumerate(content.shape) if i not in axes]
    strides = strides_of(remaining)
    remaining_axes = (i for i in range(len(content.shape)) if i not in axes)
    stride_of = dict(zip(remaining_axes, strides, strict=True))
    groups: list[list[Item]] = [[] for _ in range(math.prod(remaining))]
    for index, item in zip(indices(content.shape), content.items, strict=True):
        groups[sum(index[a] * s for a, s in stride_of.items())].append(item)
    return groups


def _folded(function: Callable[[Item, Item], Item], items: list[Item], start: Item) -> Item:
    """Return the items combined one after the other, from ``start`` on."""
    total = start
    for item in items:
        total = function(total, item)
    return total


def _sum(items: list[Item], dtype: DType) -> Item:
    return _folded(exact.add, items, 0.0 if dtype.is_float else 0)


def _squares(items: list[Item]) -> list[Item]:
    return [exact.multiply(i, i) for i in items]


class ReduceSum(Reduce):
    """Sum: an addition per element. Source: ONNX ReduceSum-13."""

    mnemonic = "reduce_sum"
    onnx = "ReduceSum"

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        return _sum(items, dtype)


class ReduceMean(Reduce):
    """Mean: an addition per element, a division per result. Source: ONNX ReduceMean-18."""

    mnemonic = "reduce_mean"
    onnx = "ReduceMean"
    sfu_per_result = 1

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        if dtype.is_float:
            return exact.divide(_sum(items, dtype), float(len(items)))
        return exact.divide_truncated(_sum(items, dtype), len(items))


class ReduceMax(Reduce):
    """Maximum: a comparison per element. Source: ONNX ReduceMax-20."""

    mnemonic = "reduce_max"
    onnx = "ReduceMax"

    chosen = staticmethod(exact.maximum)

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        if not items:
            raise ValueError("no elements")
        return _folded(self.chosen, items[1:], items[0])


class ReduceMin(ReduceMax):
    """Minimum: a comparison per element. Source: ONNX ReduceMin-20."""

    mnemonic = "reduce_min"
    onnx = "ReduceMin"

    chosen = staticmethod(exact.minimum)


class ReduceProd(Reduce):
    """Product: a multiplication per element. Source: ONNX ReduceProd-18."""

    mnemonic = "reduce_prod"
    onnx = "ReduceProd"

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        return _folded(exact.multiply, items, 1.0 if dtype.is_float else 1)


class ReduceL1(Reduce):
    """Sum of magnitudes: magnitude and addition per element. Source: ONNX ReduceL1-18."""

    mnemonic = "reduce_l1"
    onnx = "ReduceL1"
    alu_per_element = 2

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        return _sum([exact.absolute(i) for i in items], dtype)


class ReduceL2(Reduce):
    """Root of the sum of squares. Source: ONNX ReduceL2-18."""

    mnemonic = "reduce_l2"
    onnx = "ReduceL2"
    alu_per_element = 2
    sfu_per_result = 1

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        total = _sum(_squares(items), dtype)
        # a polynomial of symbols has no root that can be written
        if not isinstance(total, int | float):
            raise ValueError("root of a symbolic sum")
        return math.sqrt(total) if dtype.is_float else math.isqrt(int(total))


class ReduceSumSquare(Reduce):
    """Sum of squares: product and addition per element. Source: ONNX ReduceSumSquare-18."""

    mnemonic = "reduce_sum_square"
    onnx = "ReduceSumSquare"
    alu_per_element = 2

    def reduce_items(self, items: list[Item], dtype: DType) -> Item:
        return _sum(_squares(items), dtype)


class ReduceLogSum(Reduce):
    """Logarithm of the sum. Source: ONNX ReduceLogSum-18."""

    mnemonic = "reduce_log_sum"
    onnx = "ReduceLogSum"
    sfu_per_result = 1


class ReduceLogSumExp(Reduce):
    """Logarithm of the sum of exponentials, stable: the maximum is taken out first.

    Shapes:  data -> the axes have extent 1, or are left out without ``keepdims``.
    Work:    comparison, difference, exponential and addition per element; logarithm and addition
             a result.
    Traffic: data and result once.
    Source:  ONNX ReduceLogSumExp-18.
    """

    mnemonic = "reduce_log_sum_exp"
    onnx = "ReduceLogSumExp"
    alu_per_element, sfu_per_element = 3, 1
    alu_per_result, sfu_per_result = 1, 1
