"""Base of elementwise operators, and arithmetic."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from functools import partial, reduce
from typing import ClassVar

from ... import (
    Dim,
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Known,
    Op,
    TensorType,
    Types,
    count,
    first_dtype,
    frozen,
    has,
    known,
    single,
    tensor,
)
from ...op import UNRANKED
from ...tensors.broadcast import broadcast
from ...tensors.known import elementwise
from . import exact


def is_integral(dtype: DType) -> bool:
    """Return True if integer units compute in ``dtype``; unknown types count as floats."""
    return dtype.is_integer or dtype is DType.BOOL or dtype is DType.STR


def _product(times: int, letter: str) -> str:
    return letter if times == 1 else f"{times}*{letter}"


def _derived_formulas(alu: int, sfu: int, variadic: bool) -> dict[str, str]:
    """Return formulas of the counts per element, ``t`` times for variadic operators."""
    # integers have no special functions: all count as integer operations
    pairs = {"alu": (alu, "f"), "sfu": (sfu, "f"), "integer": (alu + sfu, "i")}
    repeat = "*t" if variadic else ""
    return {unit: _product(n, x) + repeat for unit, (n, x) in pairs.items() if n}


@frozen
class Elementwise(Op):
    """An operator on corresponding elements of broadcast operands.

    Shapes:  operands broadcast to ``e`` elements; the result has their shape.
    Work:    ``alu_per_element`` and ``sfu_per_element`` an element, times ``t`` for ``t + 1``
             operands of a variadic operator. ``f`` is e where operand 0 is a float, ``i`` is e
             where it is an integer or boolean: those count as integer operations.
    Traffic: each operand once, the result once.
    Source:  ONNX broadcasting rule; per-element counts are the operations of the definition,
             one special function counted once on the special-function unit.
    """

    alu_per_element = 1
    sfu_per_element = 0
    variadic = False
    function: ClassVar[Callable[..., Item] | None] = None
    """Function of known elements, including symbolic ones."""
    derivative: ClassVar[tuple[str, ...]] = ()
    """Derivative by each operand, as text over x (or a), b, c and the result y; "" for zero."""

    def __init_subclass__(cls) -> None:
        """Derive the formulas from the counts per element, and register."""
        # a class with other extents has formulas over these
        if "formulas" not in cls.__dict__ and cls.extents is Elementwise.extents:
            cls.formulas = _derived_formulas(cls.alu_per_element, cls.sfu_per_element, cls.variadic)
        super().__init_subclass__()

    def infer(self, ins: Inputs) -> Types:
        present = [i for i, v in enumerate(ins) if v is not None]
        types = [tensor(ins, i) for i in present] or [UNRANKED]
        dtype = self.result or first_dtype(ins, *present)
        return single(dtype, broadcast([t.shape for t in types]))

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        """Return the function for known elements of type ``dtype``, None if there is none."""
        return type(self).function

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        contents = [known(ins, i) for i in range(len(ins))]
        present = [k for k in contents if k is not None]
        # all contents must be known, at least in part
        if not present or len(present) < len(contents):
            return ()
        return self.fold_elements(ins, outs, present)

    def fold_elements(self, ins: Inputs, outs: Types, contents: list[Known]) -> Folded:
        """Return the content of the result from the contents of the operands."""
        source, target = first_dtype(ins, *range(len(ins))), outs[0]
        function = self.evaluator(source)
        if function is None or not isinstance(target, TensorType):
            return ()
        dtype = target.dtype

        def element(*args: Item) -> Item:
            # operands are brought to one type, the result to that of the operator
            fitted = [exact.fit(a, source) for a in args]
            return None if None in fitted else exact.fit(function(*fitted), dtype)

        return (elementwise(element, *contents),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        e = count(outs[0])
        integral = is_integral(tensor(ins, 0).dtype)
        letters: dict[str, Dim] = {"f": 0 if integral else e, "i": e if integral else 0}
        if self.variadic:
            # n operands are combined n - 1 times
            letters["t"] = max(sum(v is not None for v in ins) - 1, 1)
        return letters


SOURCES = {"": "ONNX", "com.microsoft": "ONNX Runtime contrib"}
"""Words for a domain in the source of a docstring; other domains go by their name."""


def pointwise(
    mnemonic: str,
    source: str,
    operands: str,
    does: str,
    function: Callable[..., Item] | None = None,
    *,
    alu: int = 1,
    sfu: int = 0,
    result: DType | None = None,
    variadic: bool = False,
    commutative: bool = False,
    derivative: tuple[str, ...] | str = (),
    **attributes: float,
) -> type[Elementwise]:
    """Return an elementwise operator defined by one row of data.

    A row starts a line and is assigned to the name of its class, since lookups search files
    for this text: ``Exp = pointwise("exp", "Exp-13", …``.

    Args:
        mnemonic: name in the text form.
        source: the ONNX operator with domain and version, and further sources
            after it: ``com.microsoft::QuickGelu-1``, ``Mish-22; arXiv:1908.08681``.
        operands: their names, separated by blanks, marked as in ``Op.operands``.
        does: first line of the docstring.
        function: evaluates known elements, including symbolic ones.
        alu: operations per element on the vector unit.
        sfu: operations per element on the special-function unit.
        result: element type of the result; None takes that of the operands.
        variadic: True if the last operand stands for any number of operands.
        commutative: True if the order of the operands does not matter.
        derivative: derivative by each operand, in x (or a), b, c, the result y and attributes.
        attributes: defaults of the attributes, all of them numbers.
    """
    # the name ends before the version; the class belongs to the module of the caller
    onnx = re.split(r"[^\w.:]", source)[0]
    domain, _, name = onnx.rpartition("::")
    version = source.removeprefix(f"{domain}::")
    body = {
        "__module__": sys._getframe(1).f_globals["__name__"],
        "__doc__": f"{does}. Source: {SOURCES.get(domain, domain)} {version}.",
        "__annotations__": dict.fromkeys(attributes, "float"),
        **attributes,
        "mnemonic": mnemonic,
        "onnx": onnx,
        "operands": operands,
        "alu_per_element": alu,
        "sfu_per_element": sfu,
        "function": function,
        "result": result,
        "variadic": variadic,
        "is_commutative": commutative,
        "derivative": (derivative,) if isinstance(derivative, str) else derivative,
    }
    cls = type(name, (Elementwise,), body)
    return frozen(cls) if attributes else cls


Add = pointwise(
    "add",
    "Add-14",
    "A B",
    "Sum of two operands",
    exact.add,
    commutative=True,
    derivative=("1", "1"),
)
Sub = pointwise(
    "sub", "Sub-14", "A B", "Difference of two operands", exact.subtract, derivative=("1", "-1")
)
Mul = pointwise(
    "mul",
    "Mul-14",
    "A B",
    "Product of two operands",
    exact.multiply,
    commutative=True,
    derivative=("b", "a"),
)


class Div(Elementwise):
    """Quotient, one special function; integers truncate toward zero. Source: ONNX Div-14."""

    mnemonic = "div"
    onnx = "Div"
    operands = "A B"
    alu_per_element, sfu_per_element = 0, 1
    derivative = ("1/b", "-(a/(b*b))")

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        return exact.divide_truncated if dtype.is_integer else exact.divide


@frozen
class Mod(Elementwise):
    """Remainder: quotient, product, difference. Source: ONNX Mod-13."""

    mnemonic = "mod"
    onnx = "Mod"
    operands = "A B"
    alu_per_element, sfu_per_element = 2, 1
    derivative = ("1", "")
    fmod: int = 0

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        return exact.modulo_truncated if self.fmod else exact.modulo


class Pow(Elementwise):
    """Power; the result has the base's element type. Source: ONNX Pow-15."""

    mnemonic = "pow"
    onnx = "Pow"
    operands = "X Y"
    alu_per_element, sfu_per_element = 0, 1
    function = exact.power
    derivative = ("b*a**(b - 1)", "y*log(a)")

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([tensor(ins, 0).shape, tensor(ins, 1).shape])
        return single(tensor(ins, 0).dtype, shape)

    def fold_elements(self, ins: Inputs, outs: Types, contents: list[Known]) -> Folded:
        base, exponent = tensor(ins, 0).dtype, tensor(ins, 1).dtype

        def element(a: Item, b: Item) -> Item:
            # base and exponent may differ in type; the result has that of the base
            result = exact.power(exact.fit(a, base), exact.fit(b, exponent))
            return exact.convert(result, exponent, base)

        return (elementwise(element, *contents),)


Neg = pointwise("neg", "Neg-13", "X", "Negation", exact.negate, derivative="-1")
Abs = pointwise("abs", "Abs-13", "X", "Magnitude", exact.absolute, derivative="sign(x)")
Sign = pointwise(
    "sign", "Sign-13", "input", "-1, 0 or 1: two comparisons", exact.sign, alu=2, derivative=("",)
)
Reciprocal = pointwise(
    "reciprocal",
    "Reciprocal-13",
    "X",
    "``1 / x``",
    lambda x: exact.divide(1.0, x),
    alu=0,
    sfu=1,
    derivative="-(y*y)",
)
Sqrt = pointwise("sqrt", "Sqrt-13", "X", "Square root", math.sqrt, alu=0, sfu=1, derivative="0.5/y")


def _largest(*items: Item) -> Item:
    return reduce(exact.maximum, items)


def _smallest(*items: Item) -> Item:
    return reduce(exact.minimum, items)


def _total(*items: Item) -> Item:
    return reduce(exact.add, items)


variadic = partial(pointwise, variadic=True, commutative=True)
"""Define a row of an operator with one or more operands, in any order."""

Max = variadic("max", "Max-13", "data_0+", "Largest of one or more operands", _largest)
Min = variadic("min", "Min-13", "data_0+", "Smallest of one or more operands", _smallest)
Sum = variadic("sum", "Sum-13", "data_0+", "Sum of one or more operands", _total)
Mean = variadic(
    "mean",
    "Mean-13",
    "data_0+",
    "Mean of one or more operands; the scaling by 1/n is left out",
    lambda *items: exact.divide(_total(*items), float(len(items))),
)
BiasAdd = pointwise(
    "bias_add",
    "com.microsoft::BiasAdd-1",
    "X bias skip",
    "``X + bias + skip``",
    _total,
    alu=2,
    derivative=("1", "1", "1"),
)


@frozen
class Clip(Elementwise):
    """Limits from below and above: one comparison for each limit.

    Shapes:  input -> same shape; limits are scalars.
    Work:    one operation per element and limit ``t``.
    Traffic: each operand once, the result once.
    Source:  ONNX Clip-13.
    """

    mnemonic = "clip"
    onnx = "Clip"
    operands = "input min? max?"
    formulas = {"alu": "f*t", "integer": "i*t"}
    # the shape of the input: the limits are scalars
    infer, typed_by = Op.infer, (0, 1, 2)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content, dtype = known(ins, 0), tensor(ins, 0).dtype
        if content is None:
            return ()
        for index, limit in ((1, exact.maximum), (2, exact.minimum)):
            # either limit may be missing
            if not has(ins, index):
                continue
            bound = known(ins, index)
            if bound is None or len(bound.items) != 1:
                return ()
            fitted = elementwise(lambda x: exact.fit(x, dtype), bound)
            result = None if fitted is None else elementwise(limit, content, fitted)
            if result is None:
                return ()
            content = Known(content.shape, result.items)
        return (content,)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        limits = sum(v is not None for v in ins[1:])
        return {**super().extents(ins, outs), "t": limits}
