"""Types of the tables that describe protobuf messages to the decoder."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from perfc.ir import entity, record

if TYPE_CHECKING:
    from .wire import WireDecoder

PAYLOAD_CAP_BYTES = 1 << 13
"""Longest payload of a tensor that is read: shapes, axes and scales are shorter, weights longer."""

Fields = dict[str, Any]
"""Decoded fields of a message by name; the kind of a field decides the type of its value."""


class FieldKind(Enum):
    """Interpretation of a field's bytes.

    Repeated numbers (INTS, FLOATS, DOUBLES) are collected as encoded bytes, and decoded once the
    message is complete. ELEMENTS are the unchanged bytes of a tensor's elements.
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
    """Elements that stay in the file: their position and bytes, both -1 if they are in pieces."""

    offset: int
    nbytes: int


@entity
class Field:
    """One line of a message's table.

    Args:
        name: key of the decoded value.
        kind: interpretation of its bytes.
        of: name of the message, for ``FieldKind.MESSAGE``.
        many: whether its values are collected in a list.
        weight: whether a value of more than ``PAYLOAD_CAP_BYTES`` is left unread.
    """

    name: str
    kind: FieldKind
    of: str = ""
    many: bool = False
    weight: bool = False


@entity
class MessageTable:
    """Description of a message.

    Args:
        name: name in onnx.proto3, for errors.
        fields: fields by number; all others are skipped.
        build: function that returns the object of the decoded fields.
        fast: decoder written by hand, of messages that a model has thousands of.
        nests: whether messages of this type can be nested, so that their depth is limited.
    """

    name: str
    fields: dict[int, Field]
    build: Callable[[WireDecoder, Fields], Any]
    fast: Callable[[WireDecoder, bytes, int, int, int], Any] | None = None
    nests: bool = False
