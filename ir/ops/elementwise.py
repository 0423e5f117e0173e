"""Unary and binary arithmetic, comparisons, logic and activations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..broadcast import broadcast
from ..cost import Work
from ..dim import Dim, Poly, same
from ..graph import Inputs
from ..known import Item, elementwise, maximum, minimum
from ..op import UNRANKED, Folded, Op, Types, count, known, tensor
from ..types import DType, TensorType


@dataclass(frozen=True)
class Elementwise(Op):
    """An operator on corresponding elements of broadcast operands.

    Shapes:  operands broadcast to ``e`` elements; the result has their shape.
    Work:    ``alu_per_element`` and ``sfu_per_element`` an element; on integers and booleans they
             count as integer operations.
    Traffic: each operand once, the result once.
    Source:  ONNX broadcasting rule; per-element counts are the operations of the definition,
             one special function counted once on the special-function unit.
    """

    alu_per_element: ClassVar[int] = 1
    sfu_per_element: ClassVar[int] = 0
    result: ClassVar[DType | None] = None
    """Element type of the result; None takes that of the first operand."""
    function: ClassVar[Callable[..., Item] | None] = None
    """Evaluates known elements, symbolic ones included."""

    def infer(self, ins: Inputs) -> Types:
        types = [tensor(ins, i) for i, v in enumerate(ins) if v is not None] or [UNRANKED]
        return (TensorType(self.result or types[0].dtype, broadcast([t.shape for t in types])),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        function = type(self).function
        contents = [known(ins, i) for i in range(len(ins))]
        present = [k for k in contents if k is not None]
        if function is None or len(present) < len(contents) or not present:
            return ()
        return (elementwise(self._on_elements(function, tensor(ins, 0).dtype), *present),)

    def _on_elements(self, function: Callable[..., Item], dtype: DType) -> Callable[..., Item]:
        return function

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        e = count(outs[0])
        operations = max(len([v for v in ins if v is not None]) - 1, 1)
        if not tensor(ins, 0).dtype.is_float and tensor(ins, 0).dtype is not DType.UNKNOWN:
            return Work(integer=e * (self.alu_per_element + self.sfu_per_element) * operations)
        return Work(alu=e * self.alu_per_element * operations, sfu=e * self.sfu_per_element)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"e": count(outs[0])}


def _floor_divide(a: Item, b: Item) -> Item:
    """ONNX Div: integers truncate toward zero, which for extents is the floor."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b  # type: ignore[operator]
    if isinstance(a, Poly) or isinstance(b, Poly):
        return a // b  # type: ignore[operator]
    quotient = abs(a) // abs(b)  # type: ignore[arg-type]
    return quotient if (a < 0) == (b < 0) else -quotient  # type: ignore[operator]


class Add(Elementwise):
    """Sum of two operands. Source: ONNX Add-14."""

    mnemonic = "add"
    onnx = ("Add",)
    operands = ("A", "B")
    function = operator.add


class Div(Elementwise):
    """Quotient of two operands; a division is one special function. Source: ONNX Div-14."""

    mnemonic = "div"
    onnx = ("Div",)
    operands = ("A", "B")
    alu_per_element, sfu_per_element = 0, 1
    function = _floor_divide


def _equal(a: Item, b: Item) -> Item:
    if isinstance(a, int | Poly) and isinstance(b, int | Poly):
        return same(a, b)
    return a == b


class Equal(Elementwise):
    """Whether operands are equal. Source: ONNX Equal-19."""

    mnemonic = "equal"
    onnx = ("Equal",)
    operands = ("A", "B")
    result = DType.BOOL
    function = _equal


class Max(Elementwise):
    """Largest of one or more operands. Source: ONNX Max-13."""

    mnemonic = "max"
    onnx = ("Max",)
    operands = ("data_0",)

    function = maximum


class Min(Elementwise):
    """Smallest of one or more operands. Source: ONNX Min-13."""

    mnemonic = "min"
    onnx = ("Min",)
    operands = ("data_0",)

    function = minimum


class Sqrt(Elementwise):
    """Square root. Source: ONNX Sqrt-13."""

    mnemonic = "sqrt"
    onnx = ("Sqrt",)
    operands = ("X",)
    alu_per_element, sfu_per_element = 0, 1
    function = math.sqrt


class Relu(Elementwise):
    """``max(x, 0)``. Source: ONNX Relu-14."""

    mnemonic = "relu"
    onnx = ("Relu",)
    operands = ("X",)


@dataclass(frozen=True)
class LeakyRelu(Elementwise):
    """``x if x >= 0 else alpha * x``: a comparison and a product. Source: ONNX LeakyRelu-16."""

    mnemonic = "leaky_relu"
    onnx = ("LeakyRelu",)
    operands = ("X",)
    alu_per_element = 2
    alpha: float = 0.01
