"""One call of an operator of Relax: its operands, and the nodes it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from perfc.errors import ModelError
from perfc.ir import mutable

from ..lowering.builder import UNKNOWN, Meta, Size
from ..lowering.elements import DataType
from ..lowering.emitter import Lowerings, OperandEmitter, ValueScope
from .document import RelaxDocument

Lowering: TypeAlias = "Callable[[RelaxCall], str | Sequence[str]]"
"""Function that makes the nodes of a call and returns its results."""
LOWERINGS: Lowerings[Lowering] = Lowerings(__package__)
"""Lowerings by operator without ``relax.``."""
lowers = LOWERINGS.lowers
MOST_NODES = 500_000
"""Maximum expressions; those of a function count at each call, which could double at each level."""
LITERALS = frozenset({"PrimValue", "IntImm", "FloatImm", "int", "float", "bool"})
"""Classes of nodes in TVM's JSON that are numbers, not values of the program."""


@mutable
class RelaxScope(ValueScope):
    """Values of a module by the number of their variable's node.

    Args:
        builder: messages of ONNX built so far.
        document: nodes of the module.
        functions: number of the node of a function by that of its variable.
        values: names of values by number of the variable; several for a tuple.
        nodes: number of expressions so far.
    """

    document: RelaxDocument
    functions: dict[int, int] = field(default_factory=dict)
    values: dict[int, list[str]] = field(default_factory=dict)
    nodes: int = 0

    def count(self) -> None:
        """Count an expression.

        Raises:
            ModelError: there are too many.
        """
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise ModelError(f"more than {MOST_NODES} operations", hint="give a part of it")

    def metas(self, at: int) -> list[Meta]:
        """Return the types of an expression: one, or those of a tuple."""
        document, data = self.document, self.document.data(at)
        if document.kind(at) in LITERALS or not isinstance(data, dict):
            return [UNKNOWN]
        # versions of TVM name the field of the type differently
        given = next((data[n] for n in ("ty", "struct_info_") if n in data), 0)
        return document.metas(given)


@mutable
class RelaxCall(OperandEmitter):
    """One call.

    Args:
        scope: values of the module.
        name: name of its first result.
        path: name of its nodes in ONNX.
        operator: operator without ``relax.``.
        args: numbers of the nodes of its operands.
        attributes: attributes by name.
        outputs: types of its results.
        operands: function that returns the values of an operand.
    """

    scope: RelaxScope
    operator: str
    args: list[int]
    attributes: dict[str, Any]
    outputs: list[Meta]
    operands: Callable[[int], list[str]]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute; ``default`` if it is omitted or None."""
        value = self.attributes.get(name)
        return default if value is None else value

    def flag(self, name: str, *, default: bool = False) -> int:
        """Return an attribute that is a truth value as 0 or 1, as attributes of ONNX are."""
        return int(bool(self.attribute(name, default)))

    def axes(self, name: str, rank: int) -> list[int]:
        """Return an attribute of one or several axes; all of them if omitted."""
        value = self.attribute(name, range(rank))
        # an attribute of one axis is a number
        listed = [value] if isinstance(value, int) else value
        return [int(a) % rank for a in listed] if rank else []

    def axis(self, name: str = "axis", default: int = 0) -> int:
        """Return an attribute that is an axis of the first operand; a negative one is wrapped."""
        return int(self.attribute(name, default)) % max(self.given.rank, 1)

    def has(self, at: int) -> bool:
        """Return True if an operand is given."""
        return at < len(self.args)

    def meta(self, at: int) -> Meta:
        """Return the type of an operand."""
        return self.scope.metas(self.args[at])[0]

    @property
    def result(self) -> Meta:
        """Return the type of the first result."""
        return self.outputs[0]

    def values(self, at: int) -> list[str]:
        """Return the tensors of an operand that is a tuple."""
        return self.operands(self.args[at])

    def value(self, at: int, dtype: int = 0) -> str:
        """Return an operand.

        Args:
            at: position of the operand.
            dtype: element type of the scalar that a number becomes; 0 for that of operand 0.

        Raises:
            ValueError: it is a tuple.
        """
        document, given = self.scope.document, self.args[at]
        if document.kind(given) in LITERALS:
            return self.scalar(document.plain(given), dtype or self.given.dtype)
        if document.kind(given) == "Var" and given in document.symbols:
            # the program uses a symbolic extent as a number
            scalar = self.emit("Squeeze", self.builder.extent(document.symbols[given]))
            return self.emit("Cast", scalar, to=dtype) if dtype else scalar
        (value,) = self.values(at)
        return value

    def literal(self, at: int) -> Any:
        """Return an operand that is a number, or an array of numbers."""
        return self.scope.document.plain(self.args[at])

    def sizes(self, at: int) -> list[Size]:
        """Return an operand of extents that is written in the program."""
        return self.scope.document.sizes(self.args[at])

    def reshaped(self, value: str, sizes: Sequence[Size]) -> str:
        """Return a value with other extents."""
        # one unknown extent follows from the number of elements
        is_known = sum(not isinstance(s, int) for s in sizes) <= 1
        shape = self.shape(sizes) if is_known else self.extents(sizes)
        return self.emit("Reshape", value, shape)

    def expanded(self, value: str) -> str:
        """Return a value that is repeated to the extents of the result."""
        return self.emit("Expand", value, self.extents(self.result.sizes))

    def reordered(self, value: str, given: str, wanted: str) -> str:
        """Return a value whose axes have the order of another layout, as in NHWC and NCHW."""
        if given == wanted or not given:
            return value
        return self.emit("Transpose", value, perm=tuple(given.index(a) for a in wanted))

    def integers(self, at: int) -> str:
        """Return an operand as whole numbers of 64 bits, which ONNX takes as extents."""
        return self.cast(self.value(at), self.meta(at).dtype, DataType.INT64)
