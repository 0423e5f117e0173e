"""Sequences and optionals: values are passed by reference, and moved only when concatenated."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.errors import ShapeError

from ... import (
    UNKNOWN,
    Dim,
    DType,
    Folded,
    Inputs,
    Kind,
    Known,
    Op,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    Types,
    frozen,
    has,
    interval,
    known,
    single,
)
from ...symbolic.fresh import data_extent
from ...tensors.join import (
    element_type,
    first_items,
    is_data_dependent,
    join,
    sequence_of,
    sequence_type,
    upper,
)
from ...tensors.known import MAX_ELEMENTS
from ...tensors.types import MAX_ITEMS
from ...traffic import unmoved


def type_of(ins: Inputs, index: int) -> Type:
    """Return the type of an operand, unknown if it is missing."""
    value = ins[index] if index < len(ins) else None
    return UNKNOWN if value is None else value.type


def sequence(ins: Inputs, index: int = 0) -> SequenceType:
    """Return the type of a sequence operand; elements are unknown if it is not known to be one."""
    match type_of(ins, index):
        case SequenceType() as type_:
            return type_
        case OptionalType(SequenceType() as type_):
            return type_
        case _:
            return SequenceType(UNKNOWN, None)


def place(ins: Inputs, index: int, length: Dim | None) -> int | None:
    """Return the position given by an operand, counted from the front; None if unknown."""
    content = known(ins, index)
    position = None if content is None else content.item
    if not isinstance(position, int) or isinstance(position, bool):
        return None
    if position < 0:
        position += length if isinstance(length, int) else 0  # from the end
    return position if position >= 0 else None


def contents_of(ins: Inputs, index: int) -> tuple[Known | None, ...] | None:
    """Return contents of the elements of a sequence operand, None if none is known."""
    value = ins[index] if index < len(ins) else None
    if value is None or value.known is None or not isinstance(value.type, SequenceType):
        return None
    return tuple(item if isinstance(item, Known) else None for item in value.known.items)


def sequence_contents(elements: Sequence[Known | None]) -> Known | None:
    """Return the content of a sequence with these elements, None if none is known."""
    if len(elements) > MAX_ITEMS or sum(len(k.items) for k in elements if k) > MAX_ELEMENTS:
        return None
    return Known.of((len(elements),), elements) if elements else None


class Container(Op):
    """Operators that build or read a sequence or an optional.

    Shapes:  a sequence's element type covers all its elements.
    Work:    none.
    Traffic: none; values are passed by reference.
    Source:  ONNX.
    """

    kind = Kind.CONTAINER

    traffic = unmoved


class SequenceConstruct(Container):
    """A sequence of the operands. Source: ONNX SequenceConstruct-11."""

    mnemonic = "sequence_construct"
    onnx = "SequenceConstruct"
    operands = "inputs+"

    def infer(self, ins: Inputs) -> Types:
        types = [v.type for v in ins if v is not None]
        return (sequence_of(types),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (sequence_contents([known(ins, i) for i, v in enumerate(ins) if v is not None]),)


@frozen
class SequenceEmpty(Container):
    """A sequence without elements, of tensors of ``dtype``. Source: ONNX SequenceEmpty-11."""

    mnemonic = "sequence_empty"
    onnx = "SequenceEmpty"
    dtype: int = 1  # ONNX's number of f32

    def infer(self, ins: Inputs) -> Types:
        dtype = next((d for d in DType if d.onnx == self.dtype), DType.UNKNOWN)
        return (SequenceType(TensorType(dtype, None), 0),)


class SequenceInsert(Container):
    """The sequence with one more element. Source: ONNX SequenceInsert-11."""

    mnemonic = "sequence_insert"
    onnx = "SequenceInsert"
    operands = "input_sequence tensor position?"

    def infer(self, ins: Inputs) -> Types:
        before, new = sequence(ins), element_type(type_of(ins, 1))
        elem = new if before.length == 0 else join(before.elem, new)
        length = None if before.length is None else before.length + 1
        items = first_items(before)
        position = place(ins, 2, before.length) if has(ins, 2) else before.length
        if isinstance(position, int):
            if position <= len(items):
                items = (*items[:position], new, *items[position:])
        elif has(ins, 2) and any(t != new for t in items):
            # the new element is at an unknown position, and its type differs from the others
            items = ()
        return (sequence_type(elem, length, items),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        before, length = contents_of(ins, 0), sequence(ins).length
        position = place(ins, 2, length) if has(ins, 2) else length
        if not isinstance(position, int) or not isinstance(length, int) or position > length:
            return ()
        contents = (None,) * length if before is None else before
        return (sequence_contents((*contents[:position], known(ins, 1), *contents[position:])),)


class SequenceErase(Container):
    """The sequence with one element less. Source: ONNX SequenceErase-11."""

    mnemonic = "sequence_erase"
    onnx = "SequenceErase"
    operands = "input_sequence position?"

    def infer(self, ins: Inputs) -> Types:
        before = sequence(ins)
        if before.length == 0:
            raise ShapeError("nothing to erase from an empty sequence")
        length = None if before.length is None else before.length - 1
        items = first_items(before)
        # without a position the last element goes, whose position is the new length
        position = place(ins, 1, before.length) if has(ins, 1) else length
        if isinstance(position, int):
            items = (*items[:position], *items[position + 1 :])
        elif has(ins, 1) and any(t != items[0] for t in items):
            # an unknown element goes, and their types differ
            items = ()
        else:
            # all types are equal: any of them may go
            items = items[:-1]
        # if the types of all elements are listed, the type that covers them may be narrower now
        if items and len(items) == length:
            return (sequence_of(items),)
        return (sequence_type(before.elem, length, items),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        contents, length = contents_of(ins, 0), sequence(ins).length
        position = place(ins, 1, length) if has(ins, 1) else -1
        if contents is None or position is None or not -1 <= position < len(contents):
            return ()
        position %= len(contents)
        return (sequence_contents((*contents[:position], *contents[position + 1 :])),)


class SequenceAt(Container):
    """One element of the sequence. Source: ONNX SequenceAt-11."""

    mnemonic = "sequence_at"
    onnx = "SequenceAt"
    operands = "input_sequence position"

    def infer(self, ins: Inputs) -> Types:
        type_ = sequence(ins)
        items, position = first_items(type_), place(ins, 1, type_.length)
        if position is not None and position < len(items):
            return (items[position],)
        elem = type_.elem
        if not isinstance(elem, TensorType) or elem.shape is None:
            return (elem,)
        # a data-dependent extent in the common type covers all elements, of which each may have
        # another extent: this element gets a symbol of its range
        dims = tuple(
            data_extent(upper(d), max(interval(d)[0] or 0, 0)) if is_data_dependent(d) else d
            for d in elem.shape
        )
        return single(elem.dtype, dims)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        contents, position = contents_of(ins, 0), place(ins, 1, sequence(ins).length)
        return (
            ()
            if contents is None or position is None or position >= len(contents)
            else (contents[position],)
        )


class SequenceLength(Container):
    """The number of elements. Source: ONNX SequenceLength-11."""

    mnemonic = "sequence_length"
    onnx = "SequenceLength"
    operands = "input_sequence"

    def infer(self, ins: Inputs) -> Types:
        return single(DType.I64, ())

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        length = sequence(ins).length
        return () if length is None else (Known.scalar(length),)
