"""Evaluate the expressions in rows of families, over the keys of a configuration.

A name is a key; ``a | b`` is ``b`` where ``a`` is absent; ``a / b`` has to be whole; ``a[i]`` is
item ``i`` of a list, and ``a`` where it is no list; ``a.b`` is a key of an object inside.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from perfc.errors import ModelError

from ..keys import LARGEST, MOST_LAYERS, Keys

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# functions that rows may call; sizes are bounded, as configurations are untrusted files:
# "unrolled" takes pairs of kinds of layers and a number of repetitions (GPT-Neo), of which at most
# 16 kinds are read
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "even": lambda x: int(x) // 2 * 2,
    "is_text": lambda x: isinstance(x, str),
    "is_list": lambda x: isinstance(x, list),
    "size": len,
    "last": lambda x: x[-1],
    "most": lambda x: max(x) if isinstance(x, list) else x,
    "unrolled": lambda x: [kind for kinds, n in x for kind in kinds[:16] * min(n, MOST_LAYERS)],
    "numbers": lambda x: [int(part) for part in x.split(",") if part.strip().isdigit()],
}


@cache
def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


def names_of(text: str) -> Iterator[str]:
    """Yield the names in an expression, without names of functions."""
    tree = parsed(text)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called:
            yield node.id


def words_of(text: str) -> Iterator[str]:
    """Yield the strings in an expression."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


class KeyScope:
    """Values of the names in expressions of one family; `of` evaluates an expression.

    Args:
        keys: the configuration.
        names: the configuration's name of a key, where this family has another.
        defaults: values of keys that are absent.
    """

    def __init__(
        self, keys: Keys, names: Mapping[str, str], defaults: Mapping[str, object]
    ) -> None:
        self.keys, self.names, self.defaults = keys, names, defaults
        self.bound: dict[str, object] = {}

    def value(self, name: str) -> Any:
        """Return what a name is bound to; None where its key is absent and has no default."""
        if name in self.bound:
            return self.bound[name]
        result = self.keys.get(self.names.get(name, name))
        return self.defaults.get(name) if result is None else result

    def of(self, expression: object) -> Any:
        """Return the value of an expression, or of a literal that is no string.

        Raises:
            ModelError: a key is absent or of another kind.
        """
        if not isinstance(expression, str):
            return expression
        try:
            return self._of(parsed(expression))
        except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
            raise self._wrong(expression) from None

    def _wrong(self, expression: str) -> ModelError:
        """Build the error for an expression whose keys have values of other kinds."""
        given = [self.names.get(n, n) for n in names_of(expression) if n not in self.bound]
        # the first key with a value is the likely cause
        first = next(iter(given), "?")
        name = next((n for n in given if self.keys.get(n) is not None), first)
        return self.keys.wrong(name, self.keys.get(name), "a value of its kind")

    def _of(self, node: ast.expr) -> Any:
        """Return the value of a node of an expression; no code of Python is run."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self.value(name)
            case ast.List(items) | ast.Tuple(items):
                return [self._of(item) for item in items]
            case ast.Attribute(inner, name):
                result = self._of(inner)
                return result.get(name) if isinstance(result, dict) else None
            case ast.Subscript(inner, index):
                return self._item(self._of(inner), self._of(index))
            case ast.IfExp(test, yes, no):
                return self._of(yes) if self._of(test) else self._of(no)
            case ast.BoolOp(op, parts):
                result = (bool(self._of(part)) for part in parts)
                return all(result) if isinstance(op, ast.And) else any(result)
            case ast.UnaryOp(ast.Not(), part):
                return not self._of(part)
            case ast.Call(ast.Name(name), [part]):
                return FUNCTIONS[name](self._of(part))
            case ast.Compare(left, [op], [right]):
                first, second = self._of(left), self._of(right)
                if isinstance(op, ast.In):
                    return isinstance(second, list) and first in second
                return COMPARISONS[type(op)](first, second)
            case ast.BinOp(left, op, right):
                return self._binary(left, op, right)
        raise AssertionError(ast.dump(node))

    def _item(self, result: Any, index: Any) -> Any:
        """Return an item of a list or object; any other value stands for each item."""
        if isinstance(result, dict):
            return result.get(index)
        return result[index] if isinstance(result, list | str) else result

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Any:
        """Return the value of ``a | b`` or of arithmetic, with errors that name the key."""
        # the right side is not evaluated if it is not needed: its keys may be absent
        if isinstance(op, ast.BitOr):
            first = self._of(left)
            return self._of(right) if first is None else first
        a, b = self._number(left), self._number(right)
        if isinstance(op, ast.Div | ast.Mod):
            # errors name the key of the divisor
            name = next((n.id for n in ast.walk(right) if isinstance(n, ast.Name)), "?")
            name = self.names.get(name, name)
            if not isinstance(b, int) or b < 1:
                raise self.keys.wrong(name, b, "a whole number above 0")
            # a modulus is a period in layers
            if isinstance(op, ast.Mod) and b > MOST_LAYERS:
                raise self.keys.wrong(name, b, f"at most {MOST_LAYERS}")
            if isinstance(op, ast.Div):
                # for the error: ``heads`` of ``num_attention_heads``
                _, _, what = name.rpartition("_")
                return self.keys.divided(int(a), b, what)
        return ARITHMETIC[type(op)](a, b)

    def _number(self, node: ast.expr) -> int | float:
        """Return a number within limits; comparisons count as 0 or 1, but bools of keys fail."""
        result = self._of(node)
        name = next((n.id for n in ast.walk(node) if isinstance(n, ast.Name)), "?")
        if result is None:
            raise self.missing(name)
        if isinstance(result, bool) and not isinstance(node, ast.Name):
            return int(result)
        # products of two keys may be as large as the upper limit; literals alone are negative
        if (
            isinstance(result, bool)
            or not isinstance(result, int | float)
            or not -LARGEST <= result <= LARGEST * LARGEST
        ):
            raise self.keys.wrong(self.names.get(name, name), result, "a number")
        # JSON writes 2048.0, too
        return int(result) if result == result // 1 else result

    def missing(self, name: str) -> ModelError:
        """Build the error for a key that has to be there."""
        return ModelError(
            f"no {self.names.get(name, name)!r} in the configuration",
            where=self.keys.where,
            hint="is this the config.json of a model?",
        )
