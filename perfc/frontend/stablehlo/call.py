"""One operation of a program: operands in either order of the axes, and the nodes it becomes.

Operators of ONNX broadcast by themselves, so that a broadcast of the program becomes a node only
where an operation needs all its elements. Until then its value is called small. Feature maps with
channels last become channels-first at convolutions; elementwise operations leave them so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from perfc.ir import mutable

from ..lowering.builder import UNKNOWN, Meta, Size
from ..lowering.elements import DataType, element_type
from ..lowering.emitter import FIRST, LAST, Lowerings, OperandEmitter, ValueScope

Lowering: TypeAlias = "Callable[[HloCall], None]"
"""Function that makes the nodes of an operation and binds its results."""
LOWERINGS: Lowerings[Lowering] = Lowerings(__package__)
"""Lowerings by operation without its dialect."""
lowers = LOWERINGS.lowers
TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)(\w+)(?:,.*)?>")
"""A type of MLIR: ``tensor<8x?x16xf32>``."""


def meta_of_type(text: str) -> Meta:
    """Return the element type and the extents of a type of MLIR.

    >>> meta_of_type("tensor<?x8xf32>").sizes
    (None, 8)
    """
    matched = TENSOR.fullmatch(text)
    if matched is None:
        return UNKNOWN
    sizes = [None if s == "?" else int(s) for s in matched[1].split("x")[:-1]]
    return Meta(element_type(matched[2]), tuple(sizes))


@mutable
class HloScope(ValueScope):
    """Values of a program by number.

    Args:
        builder: messages of ONNX built so far.
        functions: functions by name.
        plain: values with the axes in the order of the program, by number.
        first: values that are channels-first feature maps, by number.
        small: values that are not broadcast yet, with their extents before the broadcast, by
            number; a scalar has none.
        metas: types in the program, after the broadcast, by number.
        nodes: number of operations so far.
    """

    functions: dict[str, Any]
    plain: dict[int, str] = field(default_factory=dict)
    first: dict[int, str] = field(default_factory=dict)
    small: dict[int, tuple[str, tuple[Size, ...]]] = field(default_factory=dict)
    metas: dict[int, Meta] = field(default_factory=dict)
    nodes: int = 0

    def alias(self, number: int, source: int | None, meta: Meta) -> None:
        """Bind a number to the value of another; None removes its value."""
        self.metas[number] = meta
        tables: tuple[dict[int, Any], ...] = (self.plain, self.first, self.small)
        for table in tables:
            value = None if source is None else table.get(source)
            table.pop(number, None)
            if value is not None:
                table[number] = value


@mutable
class HloCall(OperandEmitter):
    """One operation.

    Args:
        scope: values of the program.
        name: name of its first result.
        path: name of its nodes.
        op: its JSON object, as `worker.Writer.operation` writes it.
    """

    scope: HloScope
    op: dict[str, Any]

    @property
    def inputs(self) -> list[int]:
        """Return the numbers of its operands."""
        return list(self.op["in"])

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        value = self.op["attrs"].get(name)
        return default if value is None else value

    def meta(self, at: int) -> Meta:
        """Return the type of an operand."""
        return self.scope.metas[self.inputs[at]]

    def result(self, at: int = 0) -> Meta:
        """Return the type of a result."""
        return meta_of_type(self.op["out"][at][1])

    @property
    def is_first(self) -> bool:
        """Return True if an operand exists only channels-first."""
        return any(n in self.scope.first and n not in self.scope.plain for n in self.inputs)

    def value(self, at: int) -> str:
        """Return an operand with all its elements."""
        scope, number = self.scope, self.inputs[at]
        if number in scope.plain:
            return scope.plain[number]
        if number in scope.first:
            result = self.emit("Transpose", scope.first[number], perm=LAST)
        else:
            value, _ = scope.small[number]
            sizes = scope.metas[number].sizes
            result = self.emit("Expand", value, self.shape([1 if s is None else s for s in sizes]))
        scope.plain[number] = result
        return result

    def map_value(self, at: int) -> str:
        """Return a feature map, channels-first."""
        scope, number = self.scope, self.inputs[at]
        if number not in scope.first:
            scope.first[number] = self.emit("Transpose", self.value(at), perm=FIRST)
        return scope.first[number]

    def broadcast(self, at: int, *, first: bool) -> str:
        """Return an operand that ONNX may broadcast, channels-first if ``first``.

        A value that is not broadcast yet stays so; its axes are only reordered.
        """
        scope, number = self.scope, self.inputs[at]
        if number in scope.plain and not first:
            return scope.plain[number]
        if number in scope.small and not (first and number in scope.first):
            value, sizes = scope.small[number]
            if not first or len(sizes) < 4:
                return value
            # one row and one column: the order of elements is the same in both layouts
            if all(s == 1 for s in sizes[1:3]):
                return self.emit("Reshape", value, self.shape([sizes[a] for a in FIRST]))
            return self.emit("Transpose", value, perm=FIRST)
        rank = scope.metas[number].rank
        return self.map_value(at) if first and rank == 4 else self.value(at)

    def elementwise(self, ats: Iterable[int]) -> tuple[list[str], bool, tuple[Size, ...] | None]:
        """Return operands, whether they are channels-first, and the extents of a small result.

        A result is small if all operands are small and their extents agree; scalars agree with any.
        If the extents differ, one operand is broadcast, so that the result has all its elements.
        Extents are None for a result that is not small.
        """
        scope, listed = self.scope, list(ats)
        first = self.is_first and self.result().rank == 4
        smalls = [scope.small.get(self.inputs[at]) for at in listed]
        sizes = None
        if all(s is not None for s in smalls):
            # of scalars alone the extents are ()
            shapes = {s[1] for s in smalls if s is not None if s[1]} or {()}
            if len(shapes) == 1:
                sizes = next(iter(shapes))
            else:
                self.value(listed[0])
        return [self.broadcast(at, first=first) for at in listed], first, sizes

    def bind(
        self, value: str, at: int = 0, *, first: bool = False, small: Sequence[Size] | None = None
    ) -> None:
        """Store a value as a result; ``small`` are its extents if it is not broadcast yet."""
        scope, builder = self.scope, self.builder
        number, meta = self.op["out"][at][0], self.result(at)
        scope.metas[number] = meta
        # a small value gets neither name nor type: the node that expands it will have them
        if small is not None and tuple(small) != meta.sizes:
            scope.small[number] = value, tuple(small)
            return
        sizes = tuple(meta.sizes[a] for a in FIRST) if first else meta.sizes
        name = builder.fresh(self.name)
        # the value is named and declared if the last node made it; an earlier one stays as it is
        (value,) = builder.settle(
            len(builder.graph.node) - 1, [value], [name], [Meta(meta.dtype, sizes)]
        )
        (scope.first if first else scope.plain)[number] = value

    def as_integers(self, at: int) -> str:
        """Return an operand as whole numbers of 64 bits."""
        return self.emit("Cast", self.value(at), to=int(DataType.INT64))
