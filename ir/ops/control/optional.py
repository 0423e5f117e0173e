"""Optionals: construction, reading, and the test of presence."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    UNKNOWN,
    DType,
    Folded,
    Inputs,
    Known,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    Types,
    frozen,
    has,
    known,
    single,
)
from .container import Container, type_of


@frozen
class Optional(Container):
    """The operand as an optional; without one, an empty optional of ``type``.

    Source: ONNX Optional-28.
    """

    mnemonic = "optional"
    onnx = "Optional"
    operands = "input?"
    type: Type | None = None

    def infer(self, ins: Inputs) -> Types:
        operand = type_of(ins, 0)
        if isinstance(operand, OptionalType):
            raise ShapeError("an optional holds a tensor or a sequence, not another optional")
        if has(ins, 0):
            return (OptionalType(operand),)
        return (OptionalType(UNKNOWN if self.type is None else self.type),)


class OptionalGetElement(Container):
    """Value in an optional; for other types, the value itself.

    Source: ONNX OptionalGetElement-28.
    """

    mnemonic = "optional_get_element"
    onnx = "OptionalGetElement"
    operands = "input"

    def infer(self, ins: Inputs) -> Types:
        match type_of(ins, 0):
            case OptionalType(elem):
                return (elem,)
            case other:
                return (other,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (known(ins, 0),)


class OptionalHasElement(Container):
    """True if an optional has a value, or for a value of another type; False without operand.

    Source: ONNX OptionalHasElement-28.
    """

    mnemonic = "optional_has_element"
    onnx = "OptionalHasElement"
    operands = "input?"

    def infer(self, ins: Inputs) -> Types:
        return single(DType.BOOL, ())

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        match type_of(ins, 0):
            case TensorType() | SequenceType():
                return (Known.scalar(True),)
            case _:
                # an optional may be empty: only a run decides
                return () if has(ins, 0) else (Known.scalar(False),)
