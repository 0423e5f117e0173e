"""Number equal operators and values equally, for keys of the caches of passes."""

from __future__ import annotations

from collections.abc import Hashable

from .. import Inputs, Known, Op, Type, Value

MISSING = -1
"""Number of an omitted operand; all others are 1 or more."""


class DuplicateKeys:
    """Equal numbers for equal operators and values, for the duration of one pass over a module.

    Comparison of operators by fields and of contents by elements takes long, so that each object is
    compared once; later look-ups are by identity. ``count`` is the largest number, ``numbers`` has
    the number of each thing by equality, ``operators`` and ``values`` by identity.
    """

    __slots__ = ("count", "numbers", "operators", "values")

    def __init__(self) -> None:
        self.count = 0
        self.numbers: dict[Hashable, int] = {}
        self.operators: dict[int, tuple[int, Op]] = {}
        self.values: dict[Value, int] = {}

    def content(self, type_: Type, known: Known | None) -> int:
        """Return the number shared by all values with this type and content."""
        return self.number(type_ if known is None else (type_, known))

    def number(self, thing: Hashable) -> int:
        """Return the number shared by all things equal to this one."""
        number = self.numbers.setdefault(thing, self.count + 1)
        if number > self.count:  # the thing is new
            self.count = number
        return number

    def value(self, v: Value) -> int:
        """Return the number of a value's type and content."""
        number = self.values.get(v)
        if number is None:
            number = self.values[v] = self.content(v.type, v.known)
        return number

    def operator(self, op: Op) -> int:
        """Return the number of an operator."""
        entry = self.operators.get(id(op))
        if entry is None:
            # the number is that of class and operator, as the hash of a record contains only its
            # fields: all operators without fields would collide. The operator is stored too: while
            # it lives, no other object can have its id
            entry = self.operators[id(op)] = self.number((op.__class__, op)), op
        return entry[0]

    def operands(self, ins: Inputs) -> list[int]:
        """Return the numbers of a node's operands."""
        values, value = self.values, self.value
        return [MISSING if v is None else values[v] if v in values else value(v) for v in ins]
