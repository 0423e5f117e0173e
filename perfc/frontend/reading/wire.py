"""Decoder of the protobuf wire format, driven by tables of fields (``schema``).

A message of at most ``INLINE_BYTES`` is decoded from a buffer that holds all of it; a longer one
is walked entry by entry, so that the elements of a large tensor are skipped without being read.

Source: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from perfc.errors import ModelError
from perfc.ir import entity, record

from ..lowering.window import ByteWindow
from .proto import Attribute, ProtoTensor, TypeProto

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
class WireField:
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
    fields: dict[int, WireField]
    build: Callable[[WireDecoder, Fields], Any]
    fast: Callable[[WireDecoder, bytes, int, int, int], Any] | None = None
    nests: bool = False


INLINE_BYTES = 1 << 14
"""Maximum bytes of a message that is decoded from one buffer."""
LONGEST_LEAF_BYTES = 1 << 26
"""Maximum bytes of a field that is neither message nor weight; a longer one is an error."""
LONGEST_TEXT_BYTES = 1 << 20
"""Maximum bytes of a text that are stored: no analysis reads a longer one to its end."""
DEEPEST_NESTING = 64
"""Maximum nesting of graphs and types, which bounds recursion."""

# Tag and length are varints of at most ten bytes each.
_HEAD_BYTES = 20
_GROUP_DEPTH = 64
"""Maximum nesting of groups, a deprecated form of messages, which are skipped recursively."""
_MASK64 = (1 << 64) - 1
"""Varints are 64 bits: a longer one wraps, as in every decoder of protobuf."""
_VARINT, _FIXED64, _LEN, _GROUP, _GROUP_END, _FIXED32 = range(6)  # wire types

_ELEMENT_WIRE = {FieldKind.INTS: _VARINT, FieldKind.FLOATS: _FIXED32, FieldKind.DOUBLES: _FIXED64}
"""Wire types of repeated numbers that are not packed, as proto2 writes them by default."""
_NUMBER = {_VARINT: rb"[\x80-\xff]{0,9}[\x00-\x7f]", _FIXED32: b".{4}", _FIXED64: b".{8}"}
"""The bytes of one number by wire type."""
_RUN_BYTES = 1 << 16
"""Maximum bytes that are searched at a time for numbers behind the same tag."""


class Strings(dict[bytes, str]):
    """Text by its bytes: the name of a value is in the file once for each use."""

    def __missing__(self, key: bytes) -> str:
        text = key.decode("utf-8", "replace")
        if len(key) <= 256:  # names; longer texts rarely repeat
            self[key] = text
        return text


class WireDecoder:
    """State of reading one model.

    ``base`` is the position in the file of the buffer that is being decoded.
    """

    def __init__(self, window: ByteWindow, messages: Mapping[str, MessageTable]) -> None:
        self.window = window
        self.messages = messages
        self.base = 0
        self.strings = Strings()
        self.attributes: dict[bytes, Attribute] = {}
        self.types: dict[bytes, TypeProto] = {}
        self.external: list[ProtoTensor] = []

    def fault(self, what: str, at: int) -> ModelError:
        """Return the error for malformed bytes at an offset of the current buffer."""
        return ModelError(
            f"{what} at byte {self.base + at}",
            hint="the file is damaged or not an ONNX model: download or export it again",
            where=self.window.where,
        )

    def varint(self, buf: bytes | bytearray, pos: int, end: int) -> tuple[int, int]:
        """Return an unsigned 64-bit number and the offset after it."""
        value = shift = 0
        start = pos
        while True:
            if pos >= end:
                raise self.fault("a number runs past the end of its message", start)
            byte = buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _MASK64, pos
            shift += 7
            if shift >= 70:  # ten bytes of seven bits
                raise self.fault("a number of more than ten bytes", start)

    def varints(self, data: bytes | bytearray) -> tuple[int, ...]:
        """Return all numbers of a run of varints, as signed 64-bit."""
        if data.isascii():  # all below 128: each byte is a whole varint
            return tuple(data)
        numbers: list[int] = []
        pos, end = 0, len(data)
        while pos < end:
            value, pos = self.varint(data, pos, end)
            numbers.append(value - (1 << 64) if value >> 63 else value)
        return tuple(numbers)

    def tag(self, buf: bytes, pos: int, end: int) -> tuple[int, int, int]:
        """Return the field number, wire type and the offset after the tag."""
        tag, after = self.varint(buf, pos, end)
        number, wire = tag >> 3, tag & 7
        if number == 0 or number >= 1 << 29 or wire > _FIXED32:
            raise self.fault(f"no field has the tag {tag}", pos)
        return number, wire, after

    def decode(self, message: MessageTable, buf: bytes, pos: int, end: int, depth: int) -> Any:
        """Return the object of a message that lies between two offsets of a buffer."""
        if message.nests:
            depth = self.deeper(depth, pos)
        if message.fast is not None:
            return message.fast(self, buf, pos, end, depth)
        fields: Fields = {}
        while pos < end:
            pos = self.field(message, fields, buf, pos, end, depth)
        return message.build(self, fields)

    def deeper(self, depth: int, at: int) -> int:
        """Return the depth of a graph or type inside one of the given depth."""
        if depth >= DEEPEST_NESTING:
            raise self.fault(f"graph nested deeper than {DEEPEST_NESTING}", at)
        return depth + 1

    def field(
        self, message: MessageTable, fields: Fields, buf: bytes, pos: int, end: int, depth: int
    ) -> int:
        """Decode the entry at an offset into ``fields``; return the offset after it."""
        start = pos
        if 8 <= buf[pos] < 0x80:  # a tag of one byte, of a field from 1 to 15
            number, wire = buf[pos] >> 3, buf[pos] & 7
            pos += 1
        else:
            number, wire, pos = self.tag(buf, pos, end)
        spec = message.fields.get(number)
        if wire == _LEN:
            if pos < end and buf[pos] < 0x80:
                size = buf[pos]
                pos += 1
            else:
                size, pos = self.varint(buf, pos, end)
            stop = pos + size
            if stop > end:
                raise self._overrun(message, number, stop - end, start)
            if spec is not None:
                self._store_bytes(spec, fields, buf, pos, stop, depth)
            return stop
        if wire == _VARINT:
            value, stop = self.varint(buf, pos, end)
        else:
            value, stop = 0, self._skip(wire, number, buf, pos, end, 0)
        if spec is not None:
            self._store_number(spec, fields, wire, value, buf[pos:stop])
        return stop

    def _overrun(self, message: MessageTable, number: int, excess: int, at: int) -> ModelError:
        """Return the error of an entry that is longer than its message."""
        spec = message.fields.get(number)
        name = spec.name if spec is not None else f"field {number}"
        return self.fault(f"{message.name}.{name} runs {excess} bytes past its message", at)

    def _store_number(
        self, spec: WireField, fields: Fields, wire: int, value: int, data: bytes
    ) -> None:
        """Store one number: ``value`` of a varint, ``data`` the bytes of any wire type."""
        if spec.kind is FieldKind.INT and wire == _VARINT:
            fields.pop(spec.name, None)  # the last of a oneof's members wins: put it last
            fields[spec.name] = value - (1 << 64) if value >> 63 else value
        elif spec.kind is FieldKind.FLOAT and wire == _FIXED32:
            fields[spec.name] = struct.unpack("<f", data)[0]
        elif _ELEMENT_WIRE.get(spec.kind) == wire:
            _extend(spec, fields, data)

    def _store_bytes(
        self, spec: WireField, fields: Fields, buf: bytes, pos: int, stop: int, depth: int
    ) -> None:
        """Store the bytes between two offsets as a value of the field's kind."""
        value: Any
        match spec.kind:
            case FieldKind.MESSAGE:
                value = self.decode(self.messages[spec.of], buf, pos, stop, depth)
            case FieldKind.TEXT:
                value = self.strings[buf[pos:stop]]
            case _ if spec.weight and stop - pos > PAYLOAD_CAP_BYTES:
                _leave(spec, fields, self.base + pos, stop - pos)
                return
            case FieldKind.ELEMENTS:
                value = buf[pos:stop]
            case FieldKind.BYTES:
                value = buf[pos : min(stop, pos + LONGEST_TEXT_BYTES)]
            case FieldKind.INTS | FieldKind.FLOATS | FieldKind.DOUBLES:
                if (stop - pos) % {FieldKind.FLOATS: 4, FieldKind.DOUBLES: 8}.get(spec.kind, 1):
                    raise self.fault(f"{spec.name} does not hold whole numbers", pos)
                if spec.kind is FieldKind.INTS and stop > pos and buf[stop - 1] > 0x7F:
                    raise self.fault(f"{spec.name} ends inside a number", pos)
                _extend(spec, fields, buf[pos:stop])
                return
            case _:
                return
        if spec.many:
            values = fields.setdefault(spec.name, [])
            if isinstance(values, list):  # not if an earlier element was left unread
                values.append(value)
        else:
            # The last of a oneof's members wins: put it last.
            fields.pop(spec.name, None)
            fields[spec.name] = value

    def _skip(self, wire: int, number: int, buf: bytes, pos: int, end: int, depth: int) -> int:
        """Return the offset after a value that is neither varint nor length-delimited."""
        if wire > _FIXED32:
            raise self.fault(f"no wire type {wire}", pos)
        if wire in (_FIXED64, _FIXED32):
            stop = pos + (8 if wire == _FIXED64 else 4)
            if stop > end:
                raise self.fault("a number runs past the end of its message", pos)
            return stop
        if wire == _GROUP_END or depth >= _GROUP_DEPTH:
            raise self.fault("an unmatched group", pos)
        while pos < end:
            inner, wire, pos = self.tag(buf, pos, end)
            if wire == _GROUP_END and inner == number:
                return pos
            if wire == _VARINT:
                _, pos = self.varint(buf, pos, end)
            elif wire == _LEN:
                size, pos = self.varint(buf, pos, end)
                pos += size
            else:
                pos = self._skip(wire, inner, buf, pos, end, depth + 1)
        raise self.fault("a group without end", min(pos, end))

    def walk(self, message: MessageTable, pos: int, end: int, depth: int) -> Any:
        """Return the object of a message that lies between two positions of the file."""
        if message.nests:
            depth = self.deeper(depth, pos - self.base)
        fields: Fields = {}
        fast = self._fast_readers(message, fields)
        while pos < end:
            buf, self.base = self.window.at(pos, min(_HEAD_BYTES, end - pos))
            i, stop = pos - self.base, min(end - self.base, len(buf))
            # a header that the end of the window cuts is left for a window that begins with it
            last = stop if self.base + stop == end else stop - _HEAD_BYTES
            # short entries with a reader are decoded in place, until one needs `_entry`
            while i < last:
                j = i + 2
                reader = fast.get(buf[i])
                if reader is None or j > stop:
                    break
                size = buf[i + 1]
                if size > 0x7F:
                    size, j = self.varint(buf, i + 1, stop)
                if size > INLINE_BYTES or j + size > stop:
                    break
                decode, append = reader
                i = j + size
                append(decode(self, buf, j, i, depth))
            pos = self.base + i
            if pos < end:
                pos = self._entry(message, fields, pos, end, depth)
        return message.build(self, fields)

    def _fast_readers(self, message: MessageTable, fields: Fields) -> dict[int, tuple[Any, Any]]:
        """Return decoders, each with the function that collects their values, by tag byte.

        Repeated strings and messages with a decoder written by hand have one.
        """
        readers: dict[int, tuple[Any, Any]] = {}
        for number, spec in message.fields.items():
            if not spec.many or number > 15:
                continue
            if spec.kind is FieldKind.MESSAGE:
                decode = self.messages[spec.of].fast
                if decode is not None:
                    values = fields.setdefault(spec.name, [])
                    readers[number << 3 | _LEN] = (decode, values.append)
            elif spec.kind in _LEAVES:
                readers[number << 3 | _LEN] = (_LEAVES[spec.kind], _collector(spec, fields))
        return readers

    def _entry(self, message: MessageTable, fields: Fields, pos: int, end: int, depth: int) -> int:
        """Decode or skip the entry at a position of the file; return the position after it."""
        buf, self.base = self.window.at(pos, min(_HEAD_BYTES, end - pos))
        i, stop = pos - self.base, min(end - self.base, len(buf))
        number, wire, j = self.tag(buf, i, stop)
        spec = message.fields.get(number)
        if spec is not None and number < 16 and _ELEMENT_WIRE.get(spec.kind) == wire:
            run_bytes = _numbers(spec, fields, wire, buf[i : min(stop, i + _RUN_BYTES)])
            if run_bytes:
                return pos + run_bytes
        if wire != _LEN:
            want = min(INLINE_BYTES if wire == _GROUP else _HEAD_BYTES, end - pos)
            buf, self.base = self.window.at(pos, want)
            i = pos - self.base
            return self.base + self.field(message, fields, buf, i, i + want, depth)
        size, j = self.varint(buf, j, stop)
        start, after = self.base + j, self.base + j + size
        if after > end:
            if end == self.window.nbytes:
                raise self.window.ends_early(after)
            raise self._overrun(message, number, after - end, i)
        if size > INLINE_BYTES:
            self._long_entry(spec, fields, start, after, depth)
        else:
            buf, self.base = self.window.at(pos, after - pos)
            i = pos - self.base
            self.field(message, fields, buf, i, i + after - pos, depth)
        return after

    def _long_entry(
        self, spec: WireField | None, fields: Fields, start: int, after: int, depth: int
    ) -> None:
        """Store, walk or skip an entry that is too long for one buffer."""
        if spec is None:
            self.window.skip(start, after)
        elif spec.weight and after - start > PAYLOAD_CAP_BYTES:
            self.window.skip(start, after)
            _leave(spec, fields, start, after - start)
        elif spec.kind is FieldKind.MESSAGE:
            value = self.walk(self.messages[spec.of], start, after, depth)
            if spec.many:
                fields.setdefault(spec.name, []).append(value)
            else:
                fields[spec.name] = value
        elif spec.kind is FieldKind.BYTES and after - start > LONGEST_TEXT_BYTES:
            self._store_long_bytes(spec, fields, start, after)
        elif after - start > LONGEST_LEAF_BYTES:
            raise self.fault(f"{spec.name} of {after - start} bytes", start - self.base)
        else:
            buf, self.base = self.window.at(start, after - start)
            i = start - self.base
            self._store_bytes(spec, fields, buf, i, i + after - start, depth)

    def _store_long_bytes(self, spec: WireField, fields: Fields, start: int, after: int) -> None:
        """Store the beginning of a text that is too long, and skip the rest."""
        stop = start + LONGEST_TEXT_BYTES
        buf, self.base = self.window.at(start, stop - start)
        i = start - self.base
        self._store_bytes(spec, fields, buf, i, i + stop - start, 0)
        self.window.skip(stop, after)


def _numbers(spec: WireField, fields: Fields, wire: int, data: bytes) -> int:
    """Store the numbers at the start of ``data``, each preceded by the same tag.

    Writers that do not pack lists use this layout; to read a million entries one by one takes
    seconds. Returns the number of bytes read, 0 if the first number is incomplete.
    """
    tag, number = re.escape(data[:1]), _NUMBER[wire]
    run = re.match(b"(?:%b%b)+" % (tag, number), data, re.DOTALL)
    if run is None:
        return 0
    _extend(spec, fields, b"".join(re.findall(b"%b(%b)" % (tag, number), run[0], re.DOTALL)))
    return run.end()


def _collector(spec: WireField, fields: Fields) -> Callable[[Any], None]:
    """Return a function that appends to the list of the field and creates it on first use."""

    def collect(value: object) -> None:
        fields.setdefault(spec.name, []).append(value)

    return collect


def _text(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> str:
    """Return text between two offsets, equal texts as one object."""
    return decoder.strings[buf[pos:end]]


def _bytes(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> bytes:
    """Return the bytes between two offsets."""
    return buf[pos:end]


def _leave(spec: WireField, fields: Fields, offset: int, nbytes: int) -> None:
    """Note elements that stay in the file; if they are in pieces, without position and length."""
    fields[spec.name] = Unread(-1, -1) if spec.name in fields else Unread(offset, nbytes)


def _extend(spec: WireField, fields: Fields, data: bytes) -> None:
    """Append encoded bytes of numbers; elements of a tensor that become many are dropped."""
    stored = fields.get(spec.name)
    if stored is None:
        fields[spec.name] = bytearray(data)
    elif isinstance(stored, bytearray):
        stored += data
        if spec.weight and len(stored) > PAYLOAD_CAP_BYTES:
            fields[spec.name] = Unread(-1, -1)


_LEAVES = {FieldKind.TEXT: _text, FieldKind.BYTES: _bytes}
"""Readers of repeated fields that are no messages."""


def walk_file(path: str, messages: Mapping[str, MessageTable], top: str) -> Any:
    """Return the object of a file that is one message.

    Raises:
        ModelError: damaged, or cut.
    """
    # unbuffered, as the window reads large pieces itself
    with open(path, "rb", buffering=0) as file:
        window = ByteWindow(path, file=file, nbytes=os.fstat(file.fileno()).st_size)
        return WireDecoder(window, messages).walk(messages[top], 0, window.nbytes, 0)
