"""Comparisons, logic, bits and selection."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial

from ... import (
    DType,
    Folded,
    Inputs,
    Item,
    Known,
    Types,
    first_dtype,
    frozen,
    known,
    shape_at,
    single,
)
from ...tensors.broadcast import broadcast
from ...tensors.contents import small_shape
from ...tensors.known import broadcast_to
from . import exact
from .elementwise import Elementwise, pointwise

predicate = partial(pointwise, result=DType.BOOL)
"""Define a row of an operator with a boolean result."""
symmetric = partial(pointwise, commutative=True)
"""Define a row of an operator whose operands commute."""

Equal = predicate(
    "equal", "Equal-19", "A B", "Whether operands are equal", exact.equal, commutative=True
)
Greater = predicate("greater", "Greater-13", "A B", "Whether A is above B", exact.greater)
GreaterOrEqual = predicate(
    "greater_or_equal",
    "GreaterOrEqual-16",
    "A B",
    "Whether A is not below B",
    exact.greater_or_equal,
)
Less = predicate("less", "Less-13", "A B", "Whether A is below B", exact.less)
LessOrEqual = predicate(
    "less_or_equal", "LessOrEqual-16", "A B", "Whether A is not above B", exact.less_or_equal
)
IsNaN = predicate(
    "is_nan",
    "IsNaN-20",
    "X",
    "Whether an element is not a number",
    lambda x: isinstance(x, float) and math.isnan(x),
)


@frozen
class IsInf(Elementwise):
    """True for infinite elements. Source: ONNX IsInf-20."""

    mnemonic = "is_inf"
    onnx = "IsInf"
    operands = "X"
    result = DType.BOOL
    detect_negative: int = 1
    detect_positive: int = 1

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        detected = {math.inf: self.detect_positive, -math.inf: self.detect_negative}
        return lambda x: isinstance(x, float) and bool(detected.get(x, 0))


And = predicate("and", "And-7", "A B", "Conjunction", operator.and_, commutative=True)
Or = predicate("or", "Or-7", "A B", "Disjunction", operator.or_, commutative=True)
Xor = predicate("xor", "Xor-7", "A B", "Exclusive disjunction", operator.xor, commutative=True)
Not = predicate("not", "Not-1", "X", "Negation", operator.not_)
BitwiseAnd = symmetric("bitwise_and", "BitwiseAnd-18", "A B", "Conjunction of bits", operator.and_)
BitwiseOr = symmetric("bitwise_or", "BitwiseOr-18", "A B", "Disjunction of bits", operator.or_)
BitwiseXor = symmetric(
    "bitwise_xor", "BitwiseXor-18", "A B", "Exclusive disjunction of bits", operator.xor
)
BitwiseNot = pointwise(
    "bitwise_not", "BitwiseNot-18", "X", "Complement of bits", lambda x: exact.subtract(-1, x)
)


@frozen
class BitShift(Elementwise):
    """X shifted by Y bits. Source: ONNX BitShift-11."""

    mnemonic = "bit_shift"
    onnx = "BitShift"
    operands = "X Y"
    direction: str = "LEFT"

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        def shift(x: Item, y: Item) -> Item:
            if not isinstance(y, int) or not 0 <= y < dtype.bits:
                raise ValueError("shift out of range")
            if self.direction == "LEFT":
                return exact.multiply(x, 1 << y)
            # a symbolic extent is divided by the power of two
            return x >> y if isinstance(x, int) else exact.divide_truncated(x, 1 << y)

        return shift


class Where(Elementwise):
    """``X`` where the condition holds, ``Y`` elsewhere: one selection per element.

    Shapes:  condition, X and Y broadcast.
    Work:    one operation per element.
    Traffic: each operand once, the result once.
    Source:  ONNX Where-16.
    """

    mnemonic = "where"
    onnx = "Where"
    operands = "condition X Y"
    # by operand: the condition, which is called a, has no derivative
    derivative = ("", "where(a, 1, 0)", "where(a, 0, 1)")

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([shape_at(ins, i) for i in range(3)])
        return single(first_dtype(ins, 1, 2), shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        shape = small_shape(outs[0])
        if shape is None:
            return ()
        unknown: tuple[Item, ...] = (None,) * math.prod(shape)
        contents = [known(ins, i) for i in range(3)]
        columns = [unknown if k is None else broadcast_to(k, shape) for k in contents]
        return (Known.of(shape, [_select(*row) for row in zip(*columns, strict=True)]),)


def _select(condition: Item, x: Item, y: Item) -> Item:
    """Return the chosen element; None if unknown. Equal elements need no condition."""
    if condition is None:
        # 1, 1.0 and True are equal, but not one element
        same = x is not None and type(x) is type(y) and x == y
        return x if same else None
    return x if condition else y
