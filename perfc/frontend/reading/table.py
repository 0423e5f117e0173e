"""The words that tables of protobuf messages are written in."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from perfc.ir import entity, record

if TYPE_CHECKING:
    from .wire import WireDecoder

PAYLOAD_CAP_BYTES = 1 << 13
"""Longest payload of a tensor that is read: shapes, axes and scales are shorter, weights longer."""

# The value of a field is of the type its kind gives; the table is what the types would repeat.
Fields = dict[str, Any]


class FieldKind(Enum):
    """Interpretation of a field's bytes.

    Repeated numbers (INTS, FLOATS, DOUBLES) stay wire bytes until the message is complete;
    ELEMENTS are the unchanged elements of a tensor.
    """

    INT = auto()
    FLOAT = auto()
    TEXT = auto()
    BYTES = auto()
    MESSAGE = auto()
    INTS = auto()
    FLOATS = auto()
    DOUBLES = auto()
    ELEMENTS = auto()


@record
class Unread:
    """Elements that stay in the file."""

    offset: int
    nbytes: int


@entity
class Field:
    """One line of a message's table.

    Args:
        name: key of the decoded value.
        kind: how its bytes are understood.
        of: name of the message, for ``FieldKind.MESSAGE``.
        many: whether the values are collected in a list.
        weight: whether more than ``PAYLOAD_CAP_BYTES`` of it are left unread.
    """

    name: str
    kind: FieldKind
    of: str = ""
    many: bool = False
    weight: bool = False


@entity
class MessageTable:
    """A message's table.

    Args:
        name: as in onnx.proto3, for error messages.
        fields: by field number; all others are skipped.
        build: makes the object of the decoded fields.
        fast: a decoder written by hand for messages that are many.
        nests: whether it can hold itself.
    """

    name: str
    fields: dict[int, Field]
    build: Callable[[WireDecoder, Fields], Any]
    fast: Callable[[WireDecoder, bytes, int, int, int], Any] | None = None
    nests: bool = False
