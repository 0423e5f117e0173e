"""Sequences and optionals: handing values on, moving them only where they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import ShapeError
from ..contents import agreed, elements, or_data
from ..cost import NO_TRAFFIC, Traffic, dim_sum
from ..dim import Dim, ceil_div, dim_max, interval
from ..fresh import data_extent
from ..graph import Inputs
from ..join import (
    all_items,
    first_items,
    is_data_dependent,
    join,
    sequence_of,
    sequence_type,
    upper,
)
from ..known import Known
from ..op import Folded, Kind, Op, Types, has, known, normal_axis, tensor
from ..traffic import moved, stored
from ..types import (
    MAX_ITEMS,
    UNKNOWN,
    DType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
)


def type_of(ins: Inputs, index: int) -> Type:
    """Type of an operand, unknown where it is missing."""
    value = ins[index] if index < len(ins) else None
    return UNKNOWN if value is None else value.type


def sequence(ins: Inputs, index: int = 0) -> SequenceType:
    """Type of a sequence operand; of unknown elements where it is not known to be one."""
    match type_of(ins, index):
        case SequenceType() as found:
            return found
        case OptionalType(SequenceType() as found):
            return found
        case _:
            return SequenceType(UNKNOWN, None)


def place(ins: Inputs, index: int, length: Dim | None) -> int | None:
    """The position that an operand names, counted from the front; None where it is not known."""
    content = known(ins, index)
    at = None if content is None else content.item
    if not isinstance(at, int) or isinstance(at, bool):
        return None
    if at < 0:
        at += length if isinstance(length, int) else 0
    return at if at >= 0 else None


class Container(Op):
    """Values put into a sequence or optional, or taken out of one.

    Shapes:  a sequence's element type covers all its elements.
    Work:    none.
    Traffic: none; values are handed on by reference.
    Source:  ONNX.
    """

    kind = Kind.CONTAINER

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return NO_TRAFFIC


class SequenceConstruct(Container):
    """A sequence of the operands. Source: ONNX SequenceConstruct-11."""

    mnemonic = "sequence_construct"
    onnx = ("SequenceConstruct",)
    operands = ("inputs+",)

    def infer(self, ins: Inputs) -> Types:
        types = [v.type for v in ins if v is not None]
        return (sequence_of(types),)


@dataclass(frozen=True)
class SequenceEmpty(Container):
    """A sequence without elements, of tensors of ``dtype``. Source: ONNX SequenceEmpty-11."""

    mnemonic = "sequence_empty"
    onnx = ("SequenceEmpty",)
    dtype: int = 1

    def infer(self, ins: Inputs) -> Types:
        found = next((d for d in DType if d.onnx == self.dtype), DType.UNKNOWN)
        return (SequenceType(TensorType(found, None), 0),)


class SequenceInsert(Container):
    """The sequence with one more element. Source: ONNX SequenceInsert-11."""

    mnemonic = "sequence_insert"
    onnx = ("SequenceInsert",)
    operands = ("input_sequence", "tensor", "position?")

    def infer(self, ins: Inputs) -> Types:
        before, new = sequence(ins), type_of(ins, 1)
        elem = new if before.length == 0 else join(before.elem, new)
        length = None if before.length is None else before.length + 1
        items = first_items(before)
        at = place(ins, 2, before.length) if has(ins, 2) else before.length
        if isinstance(at, int):
            if at <= len(items):
                items = (*items[:at], new, *items[at:])
        elif has(ins, 2) and any(t != new for t in items):
            # somewhere among elements of which it is not one more of the same
            items = ()
        return (sequence_type(elem, length, items),)


class SequenceErase(Container):
    """The sequence with one element less. Source: ONNX SequenceErase-11."""

    mnemonic = "sequence_erase"
    onnx = ("SequenceErase",)
    operands = ("input_sequence", "position?")

    def infer(self, ins: Inputs) -> Types:
        before = sequence(ins)
        if before.length == 0:
            raise ShapeError("nothing to erase from an empty sequence")
        length = None if before.length is None else before.length - 1
        items = first_items(before)
        at = place(ins, 1, before.length) if has(ins, 1) else length
        if isinstance(at, int):
            items = (*items[:at], *items[at + 1 :])
        elif has(ins, 1) and any(t != items[0] for t in items):
            items = ()
        else:
            items = items[:-1]
        if items and len(items) == length:
            return (sequence_of(items),)
        return (sequence_type(before.elem, length, items),)


class SequenceAt(Container):
    """One element of the sequence. Source: ONNX SequenceAt-11."""

    mnemonic = "sequence_at"
    onnx = ("SequenceAt",)
    operands = ("input_sequence", "position")

    def infer(self, ins: Inputs) -> Types:
        found = sequence(ins)
        items, at = first_items(found), place(ins, 1, found.length)
        if at is not None and at < len(items):
            return (items[at],)
        elem = found.elem
        if not isinstance(elem, TensorType) or elem.shape is None:
            return (elem,)
        # an extent that varies over the sequence is another number for each element taken
        dims = tuple(
            data_extent(upper(d), max(interval(d)[0] or 0, 0)) if is_data_dependent(d) else d
            for d in elem.shape
        )
        return (TensorType(elem.dtype, dims),)


class SequenceLength(Container):
    """The number of elements. Source: ONNX SequenceLength-11."""

    mnemonic = "sequence_length"
    onnx = ("SequenceLength",)
    operands = ("input_sequence",)

    def infer(self, ins: Inputs) -> Types:
        return (TensorType(DType.I64, ()),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        length = sequence(ins).length
        return () if length is None else (Known.scalar(length),)


@dataclass(frozen=True)
class SplitToSequence(Op):
    """A sequence of parts of a tensor, cut along an axis.

    Shapes:  parts of ``split`` (one number, or one for each part), by default of 1; without
             ``split`` and ``keepdims`` the axis goes.
    Work:    none.
    Traffic: the operand read and the parts written once.
    Source:  ONNX SplitToSequence-24.
    """

    mnemonic = "split_to_sequence"
    onnx = ("SplitToSequence",)
    operands = ("input", "split?")
    kind = Kind.CONTAINER
    axis: int = 0
    keepdims: int = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return (SequenceType(TensorType(data.dtype, None), None),)
        axis = normal_axis(self.axis, len(data.shape))
        before, after = data.shape[:axis], data.shape[axis + 1 :]
        extent = data.shape[axis]
        if not has(ins, 1):
            middle: tuple[Dim, ...] = (1,) if self.keepdims else ()
            elem = TensorType(data.dtype, (*before, *middle, *after))
            n = min(extent, MAX_ITEMS) if isinstance(extent, int) else 0
            return (sequence_type(elem, extent, (elem,) * n),)
        size, length, parts = self._parts(ins, extent)
        elem, *items = [TensorType(data.dtype, (*before, p, *after)) for p in (size, *parts)]
        return (sequence_type(elem, length, items),)

    def _parts(self, ins: Inputs, extent: Dim) -> tuple[Dim, Dim | None, Sequence[Dim]]:
        """Extent that covers every part, how many there are, and extents of the first."""
        given, rank = elements(ins, 1), tensor(ins, 1).rank
        stated = known(ins, 1)
        if given is None or (rank is None and stated is None):
            return data_extent(upper(extent)), None, ()
        if rank == 0 or (stated is not None and not stated.shape):
            part = given[0]
            if part is None:
                return data_extent(upper(extent)), None, ()
            if (interval(part)[0] or 0) < 1:
                raise ShapeError(f"parts of {part}")
            if extent % part == 0:
                return part, extent // part, ()
            first: list[Dim] = []
            if isinstance(extent, int) and isinstance(part, int):
                shown = range(0, min(extent, part * MAX_ITEMS), part)
                first = [min(part, extent - start) for start in shown]
            return data_extent(upper(part), 1), ceil_div(extent, part), first
        parts = [or_data(g, upper(extent)) for g in given]
        if not parts:
            return extent, 0, ()
        if all(p == parts[0] for p in parts):
            return parts[0], len(parts), parts
        limits = [upper(p) for p in parts]
        bounds = [h for h in limits if h is not None]
        hi = dim_max(*bounds) if len(bounds) == len(parts) else None
        covering = data_extent(hi, min(max(interval(p)[0] or 0, 0) for p in parts))
        return covering, len(parts), parts

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        data = stored(tensor(ins, 0))
        return moved([data], [data])


@dataclass(frozen=True)
class ConcatFromSequence(Op):
    """The elements of a sequence one after the other, or stacked along a new axis.

    Shapes:  the length times the elements' extent where all have the same; stacked, the length.
    Work:    none.
    Traffic: the elements read and the result written once.
    Source:  ONNX ConcatFromSequence-11.
    """

    mnemonic = "concat_from_sequence"
    onnx = ("ConcatFromSequence",)
    operands = ("input_sequence",)
    kind = Kind.MOVEMENT
    axis: int = 0
    new_axis: int = 0

    def infer(self, ins: Inputs) -> Types:
        found = sequence(ins)
        elem, length = found.elem, found.length
        items = all_items(found)
        if items:
            joined = self._joined(items)
            if joined is not None:
                return (joined,)
        if not isinstance(elem, TensorType):
            return (TensorType(DType.UNKNOWN, None),)
        if elem.shape is None:
            return (TensorType(elem.dtype, None),)
        if self.new_axis:
            axis = normal_axis(self.axis, len(elem.shape) + 1)
            shape = (*elem.shape[:axis], or_data(length), *elem.shape[axis:])
            return (TensorType(elem.dtype, shape),)
        axis = normal_axis(self.axis, len(elem.shape))
        shape = (
            *elem.shape[:axis],
            self._together(elem.shape[axis], length),
            *elem.shape[axis + 1 :],
        )
        return (TensorType(elem.dtype, shape),)

    def _joined(self, items: Sequence[Type]) -> TensorType | None:
        """The result from the elements one by one, None where the rank of one is not known.

        Raises:
            ShapeError: the elements do not go together.
        """
        shapes = [t.shape for t in items if isinstance(t, TensorType) and t.shape is not None]
        first = items[0]
        if len(shapes) < len(items) or not isinstance(first, TensorType):
            return None
        rank = len(shapes[0])
        if any(len(s) != rank for s in shapes):
            raise ShapeError(f"elements of ranks {sorted({len(s) for s in shapes})}")
        axis = normal_axis(self.axis, rank + (1 if self.new_axis else 0))
        dims: list[Dim] = []
        for i, extents in enumerate(zip(*shapes, strict=True)):
            if i == axis and not self.new_axis:
                dims.append(dim_sum(extents))
                continue
            extent = extents[0]
            for other in extents[1:]:
                common = agreed(extent, other)
                if common is None:
                    raise ShapeError(f"elements of {extent} and {other} along axis {i}")
                extent = common
            dims.append(extent)
        if self.new_axis:
            dims.insert(axis, len(items))
        return TensorType(first.dtype, tuple(dims))

    def _together(self, extent: Dim, length: Dim | None) -> Dim:
        if length is not None and (length in (0, 1) or not is_data_dependent(extent)):
            return extent * length
        hi = upper(extent)
        return data_extent(None if hi is None or length is None else hi * length)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        result = stored(outs[0])
        return moved([result], [result])


@dataclass(frozen=True)
class Optional(Container):
    """The operand as an optional; without one, an empty optional of ``type``.

    Source: ONNX Optional-28.
    """

    mnemonic = "optional"
    onnx = ("Optional",)
    operands = ("input?",)
    type: Type | None = None

    def infer(self, ins: Inputs) -> Types:
        if has(ins, 0):
            return (OptionalType(type_of(ins, 0)),)
        return (OptionalType(UNKNOWN if self.type is None else self.type),)


class OptionalGetElement(Container):
    """What an optional holds; of another value, the value itself.

    Source: ONNX OptionalGetElement-28.
    """

    mnemonic = "optional_get_element"
    onnx = ("OptionalGetElement",)
    operands = ("input",)

    def infer(self, ins: Inputs) -> Types:
        match type_of(ins, 0):
            case OptionalType(elem):
                return (elem,)
            case other:
                return (other,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (known(ins, 0),)


class OptionalHasElement(Container):
    """Whether an optional holds something; other values do, none does not.

    Source: ONNX OptionalHasElement-28.
    """

    mnemonic = "optional_has_element"
    onnx = ("OptionalHasElement",)
    operands = ("input?",)

    def infer(self, ins: Inputs) -> Types:
        return (TensorType(DType.BOOL, ()),)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        match type_of(ins, 0):
            case TensorType() | SequenceType():
                return (Known.scalar(True),)
            case _:
                return () if has(ins, 0) else (Known.scalar(False),)
