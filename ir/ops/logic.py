"""Comparisons, logic, bits and selection."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

from ..broadcast import broadcast
from ..graph import Inputs
from ..known import MAX_ELEMENTS, Item, Known, broadcast_to
from ..op import Folded, Types, known, tensor
from ..types import DType, TensorType
from . import exact
from .elementwise import Elementwise, first_dtype


class Equal(Elementwise):
    """Whether operands are equal. Source: ONNX Equal-19."""

    mnemonic = "equal"
    onnx = ("Equal",)
    operands = ("A", "B")
    result = DType.BOOL
    function = exact.equal


class Greater(Elementwise):
    """Whether A is above B. Source: ONNX Greater-13."""

    mnemonic = "greater"
    onnx = ("Greater",)
    operands = ("A", "B")
    result = DType.BOOL
    function = exact.greater


class GreaterOrEqual(Elementwise):
    """Whether A is not below B. Source: ONNX GreaterOrEqual-16."""

    mnemonic = "greater_or_equal"
    onnx = ("GreaterOrEqual",)
    operands = ("A", "B")
    result = DType.BOOL
    function = exact.greater_or_equal


class Less(Elementwise):
    """Whether A is below B. Source: ONNX Less-13."""

    mnemonic = "less"
    onnx = ("Less",)
    operands = ("A", "B")
    result = DType.BOOL
    function = exact.less


class LessOrEqual(Elementwise):
    """Whether A is not above B. Source: ONNX LessOrEqual-16."""

    mnemonic = "less_or_equal"
    onnx = ("LessOrEqual",)
    operands = ("A", "B")
    result = DType.BOOL
    function = exact.less_or_equal


class IsNaN(Elementwise):
    """Whether an element is not a number. Source: ONNX IsNaN-20."""

    mnemonic = "is_nan"
    onnx = ("IsNaN",)
    operands = ("X",)
    result = DType.BOOL

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        return lambda x: isinstance(x, float) and math.isnan(x)


@dataclass(frozen=True)
class IsInf(Elementwise):
    """Whether an element is infinite. Source: ONNX IsInf-20."""

    mnemonic = "is_inf"
    onnx = ("IsInf",)
    operands = ("X",)
    result = DType.BOOL
    detect_negative: int = 1
    detect_positive: int = 1

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        wanted = {math.inf: self.detect_positive, -math.inf: self.detect_negative}
        return lambda x: isinstance(x, float) and bool(wanted.get(x, 0))


class And(Elementwise):
    """Conjunction. Source: ONNX And-7."""

    mnemonic = "and"
    onnx = ("And",)
    operands = ("A", "B")
    result = DType.BOOL
    function = operator.and_


class Or(Elementwise):
    """Disjunction. Source: ONNX Or-7."""

    mnemonic = "or"
    onnx = ("Or",)
    operands = ("A", "B")
    result = DType.BOOL
    function = operator.or_


class Xor(Elementwise):
    """Exclusive disjunction. Source: ONNX Xor-7."""

    mnemonic = "xor"
    onnx = ("Xor",)
    operands = ("A", "B")
    result = DType.BOOL
    function = operator.xor


class Not(Elementwise):
    """Negation. Source: ONNX Not-1."""

    mnemonic = "not"
    onnx = ("Not",)
    operands = ("X",)
    result = DType.BOOL
    function = operator.not_


class BitwiseAnd(Elementwise):
    """Conjunction of bits. Source: ONNX BitwiseAnd-18."""

    mnemonic = "bitwise_and"
    onnx = ("BitwiseAnd",)
    operands = ("A", "B")
    function = operator.and_


class BitwiseOr(Elementwise):
    """Disjunction of bits. Source: ONNX BitwiseOr-18."""

    mnemonic = "bitwise_or"
    onnx = ("BitwiseOr",)
    operands = ("A", "B")
    function = operator.or_


class BitwiseXor(Elementwise):
    """Exclusive disjunction of bits. Source: ONNX BitwiseXor-18."""

    mnemonic = "bitwise_xor"
    onnx = ("BitwiseXor",)
    operands = ("A", "B")
    function = operator.xor


class BitwiseNot(Elementwise):
    """Complement of bits. Source: ONNX BitwiseNot-18."""

    mnemonic = "bitwise_not"
    onnx = ("BitwiseNot",)
    operands = ("X",)

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        return lambda x: exact.subtract(-1, x)


@dataclass(frozen=True)
class BitShift(Elementwise):
    """X shifted by Y bits. Source: ONNX BitShift-11."""

    mnemonic = "bit_shift"
    onnx = ("BitShift",)
    operands = ("X", "Y")
    direction: str = "LEFT"

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        def shift(x: Item, y: Item) -> Item:
            if not isinstance(y, int) or not 0 <= y < dtype.bits:
                raise ValueError("shift out of range")
            if self.direction == "LEFT":
                return exact.multiply(x, 1 << y)
            return x >> y if isinstance(x, int) else exact.divide_truncated(x, 1 << y)

        return shift


class Where(Elementwise):
    """``X`` where the condition holds, ``Y`` elsewhere: one selection an element.

    Shapes:  condition, X and Y broadcast.
    Work:    one operation an element.
    Traffic: each operand once, the result once.
    Source:  ONNX Where-16.
    """

    mnemonic = "where"
    onnx = ("Where",)
    operands = ("condition", "X", "Y")

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([tensor(ins, i).shape for i in range(3)])
        return (TensorType(first_dtype(ins, 1, 2), shape),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        out = outs[0]
        if not isinstance(out, TensorType) or out.shape is None:
            return ()
        shape = tuple(d for d in out.shape if isinstance(d, int))
        if len(shape) < len(out.shape) or math.prod(shape) > MAX_ELEMENTS:
            return ()
        unknown: tuple[Item, ...] = (None,) * math.prod(shape)
        contents = [known(ins, i) for i in range(3)]
        columns = [unknown if k is None else broadcast_to(k, shape) for k in contents]
        return (Known.of(shape, [_select(*row) for row in zip(*columns, strict=True)]),)


def _select(condition: Item, x: Item, y: Item) -> Item:
    if condition is None:
        same = x is not None and type(x) is type(y) and x == y
        return x if same else None
    return x if condition else y
