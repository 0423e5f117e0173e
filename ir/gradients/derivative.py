"""Derivatives of elementwise operators as text: ``1 - y*y``, in operands and the result.

Variables are ``x`` (or ``a``), ``b`` and ``c`` for the operands in order and ``y`` for the result;
names of attributes stand for their values. The text comes from an operator's source, or is checked
against this grammar when a module is read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to

from .. import DType, Value
from ..ops import operator

if TYPE_CHECKING:
    from .tape import Tape

LETTERS: Mapping[str, int | None] = {"x": 0, "a": 0, "b": 1, "c": 2, "y": None}
"""Position of the operand that a variable stands for; None for the result."""
FUNCTIONS: Mapping[str, tuple[int, int]] = {
    name: (alu, sfu) for name, (alu, sfu) in data_next_to(__file__).items()
}
"""Operations on the vector unit and on the special-function unit, by mnemonic of the functions that
a derivative may call, from ``derivative.toml``."""
BINARY: Mapping[type[ast.operator], tuple[str, int, int]] = {
    ast.Add: ("add", 1, 0),
    ast.Sub: ("sub", 1, 0),
    ast.Mult: ("mul", 1, 0),
    ast.Div: ("div", 0, 1),
    ast.Pow: ("pow", 0, 1),
}
"""Mnemonic of a binary operator, and its operations on the vector and special-function units."""
COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Gt: "greater",
    ast.GtE: "greater_or_equal",
    ast.Lt: "less",
    ast.LtE: "less_or_equal",
    ast.Eq: "equal",
}
"""Mnemonic of a comparison."""


@cache
def parsed(text: str) -> ast.expr:
    """Return the syntax tree of a derivative.

    Raises:
        ValueError: the text is not a derivative.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"no derivative: {text[:64]!r}") from None
    _cost(tree)  # raises an error for a tree outside the grammar
    return tree


@cache
def letters(text: str) -> frozenset[str]:
    """Return the variables in a derivative, ``a`` as ``x``."""
    names = {n.id for n in ast.walk(parsed(text)) if isinstance(n, ast.Name)}
    return frozenset("x" if n == "a" else n for n in names - FUNCTIONS.keys())


@cache
def operations(text: str) -> tuple[int, int]:
    """Return operations per element on the vector unit and on the special-function unit."""
    return _cost(parsed(text))


def _cost(tree: ast.expr) -> tuple[int, int]:
    """Return operations on the vector unit and on the special-function unit.

    Raises:
        ValueError: the tree is outside the grammar.
    """
    parts: list[ast.expr] = []
    match tree:
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            (_, alu, sfu), parts = BINARY[type(op)], [left, right]
        case ast.UnaryOp(ast.USub(), operand):
            # a negative constant is one number, not an operation
            alu, sfu, parts = int(not isinstance(operand, ast.Constant)), 0, [operand]
        case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
            alu, sfu, parts = 1, 0, [left, right]
        case ast.Call(ast.Name(name), parts, []) if name in FUNCTIONS:
            alu, sfu = FUNCTIONS[name]
        case ast.Name(name) if name in LETTERS:
            alu = sfu = 0
        case ast.Constant(int() | float()):
            alu = sfu = 0
        case _:
            raise ValueError(f"no derivative: {ast.unparse(tree)[:64]!r}")
    costs = [_cost(p) for p in parts]
    return alu + sum(a for a, _ in costs), sfu + sum(s for _, s in costs)


def substituted(text: str, attributes: Mapping[str, object]) -> str:
    """Return the derivative with attribute names replaced by their values."""
    tree = ast.parse(text, mode="eval").body

    class Numbers(ast.NodeTransformer):
        """Replaces names of attributes by their values, if these are numbers."""

        def visit_Name(self, node: ast.Name) -> ast.expr:
            value = attributes.get(node.id)
            # a variable wins over an attribute of its name
            is_number = isinstance(value, int | float) and node.id not in LETTERS
            return ast.parse(repr(value), mode="eval").body if is_number else node

    return ast.unparse(Numbers().visit(tree))


def written(text: str, tape: Tape, dy: Value, values: Mapping[str, Value]) -> Value:
    """Return ``dy`` times the derivative, in standard operators.

    Args:
        text: the derivative.
        tape: collects the operators.
        dy: gradient of the result.
        values: values of the variables; ``a`` is another name of ``x``.
    """
    writer = _Writer(tape, {**values, **({"a": values["x"]} if "x" in values else {})}, dy.dtype)
    # a derivative of 1 or 0 selects the gradient, in one operator; any other is a product
    match parsed(text):
        case ast.Call(ast.Name("where"), [condition, ast.Constant(1), ast.Constant(0)]):
            return tape.where(writer.value(condition), dy, tape.number(0, dy.dtype))
        case ast.Call(ast.Name("where"), [condition, ast.Constant(0), ast.Constant(1)]):
            return tape.where(writer.value(condition), tape.number(0, dy.dtype), dy)
        case tree:
            return tape.mul(dy, writer.value(tree))


class _Writer:
    """Writes a derivative on a tape, its variables given as values."""

    def __init__(self, tape: Tape, values: Mapping[str, Value], dtype: DType) -> None:
        self.tape, self.values, self.dtype = tape, values, dtype

    def value(self, tree: ast.expr) -> Value:
        """Return the value of an expression, written in standard operators."""
        match tree:
            case ast.BinOp(left, op, right):
                return self.applied(BINARY[type(op)][0], left, right)
            # the only unary operator of the grammar is the minus
            case ast.UnaryOp(_, ast.Constant(int() | float() as number)):
                return self.tape.number(-number, self.dtype)
            case ast.UnaryOp(_, operand):
                return self.applied("neg", operand)
            case ast.Compare(left, [op], [right]):
                return self.applied(COMPARED[type(op)], left, right)
            case ast.Call(ast.Name(name), parts, _):
                return self.applied(name, *parts)
            case ast.Name(name):
                return self.values[name]
            case ast.Constant(int() | float() as number):
                return self.tape.number(number, self.dtype)
            case _:
                raise ValueError(ast.unparse(tree))

    def applied(self, mnemonic: str, *parts: ast.expr) -> Value:
        """Return the result of an operator on expressions."""
        return self.tape.apply(operator(mnemonic)(), *map(self.value, parts))
