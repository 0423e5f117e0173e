"""Decoders written by hand for the messages that a model has thousands of.

Each decodes what exporters usually write, faster than the table of the message in ``schema``, which
decodes all other entries.

A tag byte is ``field number << 3 | wire type``: 0x0A is field 1 with a length before its bytes
(wire type 2), 0x08 is field 1 as a varint (wire type 0). Field numbers are those of onnx.proto3. A
byte below 0x80 is a whole varint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .proto import NO_PROPS, Attribute, ProtoNode, ProtoTensor, TypeKind, TypeProto, ValueInfo

if TYPE_CHECKING:
    from perfc.frontend.reading.wire import Fields

    from .wire import WireDecoder

SHARED_BYTES = 128
"""Maximum bytes of attributes and types that are decoded once and shared: short ones repeat."""

_SHORT = frozenset({0x42, 0x4A, 0x62, 0x6A})
"""Tags of a tensor's name, elements, documentation and place in another file."""


def read_node(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> ProtoNode:
    """Return a ``NodeProto`` between two offsets."""
    strings = decoder.strings
    node = ProtoNode()
    inputs, outputs = node.input, node.output
    fields: Fields = {}
    while pos < end:
        tag = buf[pos]
        # a tag of two bytes, or another wire type than 2
        if tag & 0x87 != 2 or pos + 1 >= end:
            pos = decoder.field(decoder.messages["NodeProto"], fields, buf, pos, end, depth)
            continue
        size = buf[pos + 1]
        start = pos + 2
        if size > 0x7F:
            size, start = decoder.varint(buf, pos + 1, end)
        stop = start + size
        if stop > end:
            raise decoder.fault(f"an entry runs {stop - end} bytes past its NodeProto", pos)
        if tag == 0x0A:
            inputs.append(strings[buf[start:stop]])
        elif tag == 0x12:
            outputs.append(strings[buf[start:stop]])
        elif tag == 0x2A:
            node.attribute.append(_attribute(decoder, buf, start, stop, depth))
        elif tag == 0x1A:
            # names of nodes do not repeat, so that sharing their text would save nothing
            node.name = buf[start:stop].decode("utf-8", "replace")
        elif tag == 0x22:
            node.op_type = strings[buf[start:stop]]
        elif tag == 0x32:
            node.doc_string = buf[start:stop].decode("utf-8", "replace")
        elif tag == 0x3A:
            node.domain = strings[buf[start:stop]]
        elif tag == 0x42:
            node.overload = strings[buf[start:stop]]
        elif tag == 0x4A:
            entry = read_entry(decoder, buf, start, stop, depth)
            fields.setdefault("metadata_props", []).append(entry)
        elif tag < 8:
            raise decoder.fault(f"no field has the tag {tag}", pos)
        pos = stop
    if fields:
        node.metadata_props = _props(fields)
    return node


def _attribute(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> Attribute:
    """Return an ``AttributeProto``, shared if it is short and has no graph."""
    attribute: Attribute
    message = decoder.messages["AttributeProto"]
    if end - pos > SHARED_BYTES:
        attribute = decoder.decode(message, buf, pos, end, depth)
        return attribute
    key = buf[pos:end]
    shared = decoder.attributes.get(key)
    if shared is not None:
        return shared
    attribute = decoder.decode(message, buf, pos, end, depth)
    if not attribute.g and not attribute.graphs:
        decoder.attributes[key] = attribute
    return attribute


def read_value_info(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> ValueInfo:
    """Return a ``ValueInfoProto`` between two offsets."""
    if end - pos > 4 and buf[pos] == 0x0A and buf[pos + 1] < 0x80:
        # most have a short name, a short type, and no or an empty documentation (tag 0x1A)
        middle = pos + 4 + buf[pos + 1]
        if middle < end and buf[middle - 2] == 0x12 and buf[middle - 1] < 0x80:
            stop = middle + buf[middle - 1]
            if stop == end or (stop + 2 == end and buf[stop] == 0x1A and not buf[stop + 1]):
                name = decoder.strings[buf[pos + 2 : middle - 2]]
                return ValueInfo(name, _type(decoder, buf, middle, stop, depth))
    info = ValueInfo()
    fields: Fields = {}
    while pos < end:
        tag = buf[pos]
        if tag not in (0x0A, 0x12, 0x1A) or pos + 1 >= end:
            pos = decoder.field(decoder.messages["ValueInfoProto"], fields, buf, pos, end, depth)
            continue
        size = buf[pos + 1]
        start = pos + 2
        if size > 0x7F:
            size, start = decoder.varint(buf, pos + 1, end)
        stop = start + size
        if stop > end:
            raise decoder.fault(f"an entry runs {stop - end} bytes past its ValueInfoProto", pos)
        if tag == 0x0A:
            info.name = decoder.strings[buf[start:stop]]
        elif tag == 0x12:
            info.type = _type(decoder, buf, start, stop, depth)
        # else documentation, which perfc does not read
        pos = stop
    if fields:
        info.metadata_props = _props(fields)
    return info


def _type(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> TypeProto:
    """Return a ``TypeProto``, shared if it is short."""
    # the key of a long type is longer than any that is stored
    key = buf[pos : min(end, pos + SHARED_BYTES + 1)]
    type_proto = decoder.types.get(key)
    if type_proto is None:
        type_proto = _tensor_type(decoder, buf, pos, end)
        if type_proto is None:
            type_proto = decoder.decode(decoder.messages["TypeProto"], buf, pos, end, depth)
        if end - pos <= SHARED_BYTES:
            decoder.types[key] = type_proto
    return type_proto


def _tensor_type(decoder: WireDecoder, buf: bytes, pos: int, end: int) -> TypeProto | None:
    """Return the type of a tensor of known rank as exporters write it; None for all else."""
    # tags of tensor_type (0x0A), its elem_type (0x08) and shape (0x12), its dims (0x0A)
    elem, inner = pos + 2, pos + 6
    if not 6 <= end - pos <= SHARED_BYTES or buf[pos] != 0x0A or elem + buf[pos + 1] != end:
        return None
    if buf[elem] != 0x08 or buf[elem + 1] > 0x7F or buf[elem + 2] != 0x12:
        return None
    if inner + buf[elem + 3] != end:
        return None
    dims: list[int | str | None] = []
    pos = inner
    while pos + 3 < end:
        start, stop, tag = pos + 3, pos + 2 + buf[pos + 1], buf[pos + 2]
        if buf[pos] != 0x0A or not start < stop <= end:
            return None
        if tag == 0x08:
            number, after = decoder.varint(buf, start, stop)
            if after != stop:
                return None
            # a varint is the two's complement of 64 bits
            dims.append(number - (1 << 64) if number >> 63 else number)
        elif tag == 0x12 and start + 1 + buf[start] == stop:
            dims.append(decoder.strings[buf[start + 1 : stop]] or None)
        else:
            return None
        pos = stop
    return TypeProto(TypeKind.TENSOR, buf[elem + 1], tuple(dims)) if pos == end else None


def read_tensor(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> ProtoTensor:
    """Return a ``TensorProto`` between two offsets."""
    message = decoder.messages["TensorProto"]
    fields: Fields = {}
    dims = bytearray()
    while pos < end:
        tag = buf[pos]
        # at the end of the message 0x80, which is no whole varint
        number = buf[pos + 1] if pos + 1 < end else 0x80
        if tag == 0x08 and number < 0x80:
            dims.append(number)
            pos += 2
        elif tag == 0x08:
            _, stop = decoder.varint(buf, pos + 1, end)
            dims += buf[pos + 1 : stop]
            pos = stop
        elif tag == 0x10 and number < 0x80:
            fields["data_type"] = number
            pos += 2
        elif tag == 0x70 and number < 0x80:
            fields["data_location"] = number
            pos += 2
        elif tag in _SHORT and pos + 2 + number <= end and number < 0x80:
            start, pos = pos + 2, pos + 2 + number
            if tag == 0x42:
                fields["name"] = decoder.strings[buf[start:pos]]
            elif tag == 0x4A:
                fields["raw_data"] = buf[start:pos]
            elif tag == 0x6A:
                entry = read_entry(decoder, buf, start, pos, depth)
                fields.setdefault("external_data", []).append(entry)
            # else documentation, which perfc does not read
        elif tag == 0x0A:
            # packed extents are appended to those so far, so that their order stays
            fields["dims"] = dims
            pos = decoder.field(message, fields, buf, pos, end, depth)
        else:
            pos = decoder.field(message, fields, buf, pos, end, depth)
    fields["dims"] = dims
    tensor: ProtoTensor = message.build(decoder, fields)
    return tensor


def read_entry(decoder: WireDecoder, buf: bytes, pos: int, end: int, depth: int) -> tuple[str, str]:
    """Return a ``StringStringEntryProto`` between two offsets."""
    # most have a short key (tag 0x0A), then a value (tag 0x12)
    if end - pos >= 4 and buf[pos] == 0x0A:
        middle = pos + 2 + buf[pos + 1]
        if buf[pos + 1] < 0x80 and middle + 2 <= end and buf[middle] == 0x12:
            size, first = decoder.varint(buf, middle + 1, end)
            if first + size == end:
                key = decoder.strings[buf[pos + 2 : middle]]
                return key, decoder.strings[buf[first:end]]
    message = decoder.messages["StringStringEntryProto"]
    fields: dict[str, Any] = {}
    while pos < end:
        pos = decoder.field(message, fields, buf, pos, end, depth)
    return fields.get("key", ""), fields.get("value", "")


def _props(fields: Fields) -> Mapping[str, str]:
    """Return the metadata of a message by key."""
    pairs = fields.get("metadata_props")
    return dict(pairs) if pairs else NO_PROPS
