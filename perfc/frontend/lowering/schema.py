"""Tables of the messages of onnx.proto3: field numbers, and how each becomes an object."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

from perfc.frontend.reading.wire import (
    PAYLOAD_CAP_BYTES,
    FieldKind,
    Fields,
    MessageTable,
    Unread,
    WireField,
)

from ..reading.fast import read_entry, read_node, read_tensor, read_value_info
from ..reading.proto import (
    FIELD_OF_TYPE,
    NO_PROPS,
    Attribute,
    AttributeType,
    Dim,
    Function,
    ProtoGraph,
    ProtoModel,
    ProtoNode,
    ProtoTensor,
    SparseTensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from ..reading.wire import WireDecoder
from .elements import pack_integers, typed_field

_EXTERNAL = 1
"""Weights that another file stores. Source: onnx.proto3, TensorProto.DataLocation."""
_TYPE_OF_NUMBER = {member.value: member for member in AttributeType}
"""Types of attributes by their number: a look-up, as an enum raises for an unknown number."""


def _props(fields: Fields, name: str = "metadata_props") -> Mapping[str, str]:
    """Return a field of key-value entries as a mapping."""
    pairs = fields.get(name)
    return dict(pairs) if pairs else NO_PROPS


def _build_entry(_: WireDecoder, fields: Fields) -> tuple[str, str]:
    return fields.get("key", ""), fields.get("value", "")


def _build_opset(_: WireDecoder, fields: Fields) -> tuple[str, int]:
    return fields.get("domain", ""), fields.get("version", 0)


def _build_annotation(_: WireDecoder, fields: Fields) -> tuple[str, Mapping[str, str]]:
    return fields.get("tensor_name", ""), _props(fields, "quant_parameter_tensor_names")


def _build_dim(_: WireDecoder, fields: Fields) -> Dim:
    """Return an extent: a number, a name, or None."""
    # of the alternatives of a oneof, the last in the file counts
    for name in reversed(fields):
        value: Dim = fields[name]
        return None if value == "" else value
    return None


def _build_shape(_: WireDecoder, fields: Fields) -> tuple[Dim, ...]:
    return tuple(fields.get("dim", ()))


def _build_type(_: WireDecoder, fields: Fields) -> TypeProto:
    """Return a type; its kind is the name of the field that it has."""
    # of the alternatives of a oneof, the last in the file counts
    for name in reversed(fields):
        kind, inner = TypeKind(name), fields[name]
        return TypeProto(
            kind,
            _int32(inner.get("elem_type", 0)),
            inner.get("shape"),
            inner.get("elem"),
            _int32(inner.get("key_type", 0)),
        )
    return TypeProto(TypeKind.UNDEFINED)


def _keep(_: WireDecoder, fields: Fields) -> Fields:
    """Return the fields themselves, for messages without an object."""
    return fields


def _build_value_info(_: WireDecoder, fields: Fields) -> ValueInfo:
    return ValueInfo(fields.get("name", ""), fields.get("type"), _props(fields))


def _int32(value: int) -> int:
    """Return the value of an int32 or enum field: protobuf counts only the low 32 bits."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def build_tensor(decoder: WireDecoder, fields: Fields) -> ProtoTensor:
    """Return a tensor of decoded fields, its elements brought into the form of ``raw_data``."""
    data_type = fields.get("data_type", 0)
    tensor = ProtoTensor(
        fields.get("name", ""),
        decoder.varints(fields.get("dims", b"")),
        data_type if 0 <= data_type < 1 << 31 else _int32(data_type),
    )
    if fields.get("data_location") == _EXTERNAL:
        tensor.external = _props(fields, "external_data")
        # a length is text; one of 20 digits would exceed 64 bits
        length = tensor.external.get("length", "")
        if length.isascii() and length.isdecimal() and len(length) < 20:
            tensor.nbytes = int(length)
        decoder.external.append(tensor)  # its file is read once the graph is known
        return tensor
    data = fields.get("raw_data")
    if data is None:
        strings = fields.get("string_data")
        if strings is not None:
            return _with_strings(tensor, strings)
        data = _typed_elements(decoder, fields, tensor.data_type)
    # a tensor without elements needs no field
    if data is None and tensor.element_count == 0:
        data = b""
    if isinstance(data, Unread):
        # below 0 if the bytes in the file are not the elements
        if data.offset >= 0:
            tensor.offset, tensor.nbytes = data.offset, data.nbytes
    elif data is not None:
        tensor.payload, tensor.nbytes = data, len(data)
    return tensor


def _with_strings(tensor: ProtoTensor, strings: list[bytes] | Unread) -> ProtoTensor:
    """Return a tensor with its strings, unless they are too many to track."""
    if not isinstance(strings, Unread):
        tensor.nbytes = sum(map(len, strings))
        if tensor.nbytes + len(strings) <= PAYLOAD_CAP_BYTES:
            tensor.string_data = tuple(strings)
    return tensor


def _typed_elements(decoder: WireDecoder, fields: Fields, data_type: int) -> bytes | Unread | None:
    """Return the elements of the ``*_data`` field of the type, as ``raw_data`` would hold them."""
    name = typed_field(data_type)
    data: bytearray | Unread | None = fields.get(name)
    if data is None:
        return None
    if name in ("float_data", "double_data"):
        return data if isinstance(data, Unread) else bytes(data)
    if isinstance(data, Unread):
        # varints differ in length, so the length of the field is not that of the elements
        return Unread(-1, -1)
    return pack_integers(data_type, decoder.varints(data))


def _build_sparse(decoder: WireDecoder, fields: Fields) -> SparseTensor:
    return SparseTensor(
        fields.get("values") or ProtoTensor(),
        fields.get("indices") or ProtoTensor(),
        decoder.varints(fields.get("dims", b"")),
    )


_LISTS = ("tensors", "graphs", "strings", "sparse_tensors", "type_protos")
"""Fields of an attribute with several values, and without a packed form."""
_SINGLES = ("f", "i", "s", "t", "g", "tp", "sparse_tensor")
"""Fields of an attribute with one value."""
_TYPE_OF_FIELD = {name: kind for kind, name in FIELD_OF_TYPE.items()}
"""Types of attributes by the field that holds their value."""


def build_attribute(decoder: WireDecoder, fields: Fields) -> Attribute:
    """Return an attribute; its type, absent before IR version 2, follows from the field in use."""
    kind = _TYPE_OF_NUMBER.get(fields.get("type", 0), AttributeType.UNDEFINED)
    attribute = Attribute(fields.get("name", ""))
    for name, value in fields.items():
        if name in _SINGLES:
            setattr(attribute, name, value)
        elif name in _LISTS:
            setattr(attribute, name, tuple(value))
        elif name == "ints":
            attribute.ints = decoder.varints(value)
        elif name == "floats":
            attribute.floats = struct.unpack(f"<{len(value) // 4}f", value)
        else:
            continue
        # a field that is present but empty says nothing
        if "type" not in fields and value:
            kind = _TYPE_OF_FIELD[name]
    attribute.type = kind
    attribute.ref_attr_name = fields.get("ref_attr_name", "")
    return attribute


def _build_node(_: WireDecoder, fields: Fields) -> ProtoNode:
    return ProtoNode(
        fields.get("name", ""),
        fields.get("op_type", ""),
        fields.get("domain", ""),
        fields.get("overload", ""),
        fields.get("input", []),
        fields.get("output", []),
        fields.get("attribute", []),
        _props(fields),
        fields.get("doc_string", ""),
    )


def _build_graph(_: WireDecoder, fields: Fields) -> ProtoGraph:
    # absent lists are left to the defaults of the graph
    known: Fields = {name: fields[name] for name in _GRAPH_LISTS if name in fields}
    return ProtoGraph(
        fields.get("name", ""),
        quantization_annotation=dict(fields.get("quantization_annotation", ())),
        metadata_props=_props(fields),
        **known,
    )


_GRAPH_LISTS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info")
"""Repeated fields of a graph."""


def _build_function(_: WireDecoder, fields: Fields) -> Function:
    return Function(**{**fields, "metadata_props": _props(fields)})


def _build_model(_: WireDecoder, fields: Fields) -> ProtoModel | None:
    """Return a model; None for bytes without a graph, which are no model."""
    if "graph" not in fields:
        return None
    return ProtoModel(**{**fields, "metadata_props": _props(fields)})


SCHEMA = """
StringStringEntryProto: 1 key text, 2 value text
OperatorSetIdProto: 1 domain text, 2 version int
TensorAnnotation: 1 tensor_name text, 2 quant_parameter_tensor_names StringStringEntryProto*
Dimension: 1 dim_value int, 2 dim_param text
TensorShapeProto: 1 dim Dimension*
TypeProto.Tensor: 1 elem_type int, 2 shape TensorShapeProto
TypeProto.Sequence: 1 elem TypeProto
TypeProto.Map: 1 key_type int, 2 elem TypeProto
TypeProto.Opaque:
TypeProto: 1 tensor TypeProto.Tensor, 4 seq TypeProto.Sequence, 5 map TypeProto.Map,
  7 opaque TypeProto.Opaque, 8 sparse_tensor TypeProto.Tensor, 9 optional TypeProto.Sequence
ValueInfoProto: 1 name text, 2 type TypeProto, 4 metadata_props StringStringEntryProto*
TensorProto: 1 dims ints, 2 data_type int, 4 float_data floats!, 5 int32_data ints!,
  6 string_data bytes*!, 7 int64_data ints!, 8 name text, 9 raw_data elements!,
  10 double_data doubles!, 11 uint64_data ints!, 13 external_data StringStringEntryProto*,
  14 data_location int
SparseTensorProto: 1 values TensorProto, 2 indices TensorProto, 3 dims ints
AttributeProto: 1 name text, 2 f float, 3 i int, 4 s bytes, 5 t TensorProto, 6 g GraphProto,
  7 floats floats, 8 ints ints, 9 strings bytes*, 10 tensors TensorProto*,
  11 graphs GraphProto*, 14 tp TypeProto, 15 type_protos TypeProto*, 20 type int,
  21 ref_attr_name text, 22 sparse_tensor SparseTensorProto,
  23 sparse_tensors SparseTensorProto*
NodeProto: 1 input text*, 2 output text*, 3 name text, 4 op_type text,
  5 attribute AttributeProto*, 6 doc_string text, 7 domain text, 8 overload text,
  9 metadata_props StringStringEntryProto*
GraphProto: 1 node NodeProto*, 2 name text, 5 initializer TensorProto*,
  11 input ValueInfoProto*, 12 output ValueInfoProto*, 13 value_info ValueInfoProto*,
  14 quantization_annotation TensorAnnotation*, 15 sparse_initializer SparseTensorProto*,
  16 metadata_props StringStringEntryProto*
FunctionProto: 1 name text, 4 input text*, 5 output text*, 6 attribute text*, 7 node NodeProto*,
  9 opset_import OperatorSetIdProto*, 10 domain text, 11 attribute_proto AttributeProto*,
  12 value_info ValueInfoProto*, 13 overload text, 14 metadata_props StringStringEntryProto*
ModelProto: 1 ir_version int, 2 producer_name text, 3 producer_version text, 4 domain text,
  5 model_version int, 6 doc_string text, 7 graph GraphProto,
  8 opset_import OperatorSetIdProto*, 14 metadata_props StringStringEntryProto*,
  25 functions FunctionProto*
"""
"""Messages with their fields, each with its number, name and kind; a kind with a capital letter is
another message. Source: onnx.proto3.

``*`` collects values in a list; ``!`` leaves more than ``PAYLOAD_CAP_BYTES`` unread.
"""
_BUILDERS: Mapping[str, Callable[[WireDecoder, Fields], Any]] = {
    "StringStringEntryProto": _build_entry,
    "OperatorSetIdProto": _build_opset,
    "TensorAnnotation": _build_annotation,
    "Dimension": _build_dim,
    "TensorShapeProto": _build_shape,
    "TypeProto": _build_type,
    "ValueInfoProto": _build_value_info,
    "TensorProto": build_tensor,
    "SparseTensorProto": _build_sparse,
    "AttributeProto": build_attribute,
    "NodeProto": _build_node,
    "GraphProto": _build_graph,
    "FunctionProto": _build_function,
    "ModelProto": _build_model,
}


def _field(text: str) -> WireField:
    """Return a field of the schema."""
    name, kind = text.rstrip("*!").split()
    of = "" if kind.islower() else kind
    number_kind = FieldKind.MESSAGE if of else FieldKind[kind.upper()]
    return WireField(name, number_kind, of, many="*" in text, weight="!" in text)


def _fields(text: str) -> dict[int, WireField]:
    """Return the fields of a message of the schema by number."""
    pairs = (field.split(maxsplit=1) for field in text.split(",") if field.strip())
    return {int(number): _field(rest) for number, rest in pairs}


_FAST = {
    "NodeProto": read_node,
    "TensorProto": read_tensor,
    "ValueInfoProto": read_value_info,
    "StringStringEntryProto": read_entry,
}
"""Readers written by hand, of the messages that most of a file consists of."""

# the fields of a message continue on lines that begin with a space
MESSAGES = {
    name: MessageTable(
        name,
        _fields(text),
        _BUILDERS.get(name, _keep),
        _FAST.get(name),
        nests=name in ("GraphProto", "TypeProto"),
    )
    for name, text in re.findall(r"(?m)^([\w.]+):((?:.|\n )*)", SCHEMA)
}
