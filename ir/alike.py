"""Numbers for operators and values, equal for equal ones: keys of what passes remember."""

from __future__ import annotations

from collections.abc import Hashable

from .graph import Inputs, Value
from .known import Known
from .op import Op
from .types import Type

MISSING = -1
"""Number of an operand that is left out."""


class Alike:
    """Gives numbers; lives as long as one walk over a module.

    Comparing operators field by field, and contents element by element, is what takes time, so
    each object is compared once; operands are then looked up by identity.
    """

    __slots__ = ("count", "numbers", "operators", "values")

    def __init__(self) -> None:
        self.count = 0
        self.numbers: dict[Hashable, int] = {}
        self.operators: dict[int, tuple[int, Op]] = {}
        self.values: dict[Value, int] = {}

    def content(self, type_: Type, known: Known | None) -> int:
        """The number of all values of this type and content."""
        return self.number(type_ if known is None else (type_, known))

    def number(self, thing: Hashable) -> int:
        """The number of all things equal to this one."""
        found = self.numbers.setdefault(thing, self.count + 1)
        if found > self.count:
            self.count = found
        return found

    def value(self, v: Value) -> int:
        """The number of a value's type and content."""
        found = self.values.get(v)
        if found is None:
            found = self.values[v] = self.content(v.type, v.known)
        return found

    def operator(self, op: Op) -> int:
        """The number of an operator."""
        found = self.operators.get(id(op))
        if found is None:
            # kept with its operator, whose identity nothing else can take while it lives
            found = self.operators[id(op)] = self.number((op.__class__, op)), op
        return found[0]

    def operands(self, ins: Inputs) -> list[int]:
        """Numbers of the operands of a node."""
        values, value = self.values, self.value
        return [MISSING if v is None else values[v] if v in values else value(v) for v in ins]
