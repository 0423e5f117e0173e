"""Symbolic sizes of an exported program, from the expressions that PyTorch writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ..lowering.builder import Size

LONGEST_EXPRESSION = 4096
"""Maximum characters of an expression, which a damaged file could make any length; the size of a
longer one is unknown."""
MOST_LEAVES = 256
"""Maximum leaves of a power: each power in a power multiplies them."""
OPERATIONS = {
    "Add": "+",
    "Mul": "*",
    "FloorDiv": "//",
    "CleanDiv": "//",
    "PythonMod": "%",
    "Mod": "%",
}
"""Operations by the functions of SymPy and PyTorch.
Source: torch/utils/_sympy/functions.py."""
BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
"""Operations by the operators of Python, as ``str`` writes an expression."""


def member_of(union: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the kind and the value of a union of the schema.

    Raises:
        ValueError: it does not have exactly one member.
    """
    ((kind, value),) = union.items()
    return kind, value


def size_of(given: Any) -> Size:
    """Return the size of a ``SymInt`` of the schema, a number or expression; None if unknown."""
    if isinstance(given, int):
        return given
    kind, value = member_of(given)
    if kind == "as_int":
        return int(value)
    return parsed(str(value["expr_str"])) if kind == "as_expr" else None


@cache
def parsed(text: str) -> Size:
    """Return an expression of SymPy, as ``srepr`` or as ``str`` writes it; None if unknown.

    >>> parsed("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))")
    ('+', ('*', 2, 's0'), -1)
    >>> parsed("2*s0 - 1")
    ('+', ('*', 2, 's0'), -1)
    """
    if len(text) > LONGEST_EXPRESSION:
        return None
    try:
        # both forms are expressions of Python
        return walked(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError, AttributeError):
        return None


def walked(node: Any) -> Size:
    """Return the size of a syntax tree.

    Raises:
        ValueError: an operation that sizes do not have.
    """
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return str(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return scaled(-1, walked(operand))
        # sizes have no difference: it is a sum with -1 times the second term
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return ("+", walked(left), scaled(-1, walked(right)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return (BINARY[type(op)], walked(left), walked(right))
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return name
        case ast.Call(func=ast.Name(id="Integer"), args=[value]):
            return walked(value)
        case ast.Call(func=ast.Name(id=name), args=[*args]) if name in OPERATIONS and args:
            return (OPERATIONS[name], *(walked(a) for a in args))
        case ast.Call(func=ast.Name(id="Pow"), args=[base, power]):
            match walked(power):
                # a power is written out as a product, so only small exponents are read
                case int(exponent) if 1 <= exponent <= 4:
                    factor = walked(base)
                    if exponent * sum(1 for _ in leaves_of(factor)) <= MOST_LEAVES:
                        return ("*", *[factor] * exponent)
                case _:
                    pass
        case _:
            pass
    raise ValueError("no size")


def scaled(factor: int, size: Size) -> Size:
    """Return a multiple of a size."""
    return factor * size if isinstance(size, int) else ("*", factor, size)


def leaves_of(size: Size) -> Iterator[Size]:
    """Yield the numbers and symbols of a size."""
    if isinstance(size, tuple):
        for part in size[1:]:
            yield from leaves_of(part)
    else:
        yield size
