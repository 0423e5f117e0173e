"""Tables of the messages of onnx.proto3: field numbers, and how each becomes an object."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from ..reading.fast import read_entry, read_node, read_tensor, read_value_info
from ..reading.proto import (
    NO_PROPS,
    Attribute,
    AttributeType,
    Dim,
    Function,
    Graph,
    Model,
    Node,
    SparseTensor,
    Tensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from ..reading.table import PAYLOAD_CAP_BYTES, Field, Fields, Kind, Message, Unread
from ..reading.wire import Decoder
from .elements import pack_integers, typed_field

_EXTERNAL = 1
_TYPE_OF_NUMBER = {member.value: member for member in AttributeType}


def _props(fields: Fields, name: str = "metadata_props") -> Mapping[str, str]:
    pairs = fields.get(name)
    return dict(pairs) if pairs else NO_PROPS


def _build_entry(_: Decoder, fields: Fields) -> tuple[str, str]:
    return fields.get("key", ""), fields.get("value", "")


def _build_opset(_: Decoder, fields: Fields) -> tuple[str, int]:
    return fields.get("domain", ""), fields.get("version", 0)


def _build_annotation(_: Decoder, fields: Fields) -> tuple[str, Mapping[str, str]]:
    return fields.get("tensor_name", ""), _props(fields, "quant_parameter_tensor_names")


def _build_dim(_: Decoder, fields: Fields) -> Dim:
    for name in reversed(fields):
        value: Dim = fields[name]
        return None if value == "" else value
    return None


def _build_shape(_: Decoder, fields: Fields) -> tuple[Dim, ...]:
    return tuple(fields.get("dim", ()))


def _build_type(_: Decoder, fields: Fields) -> TypeProto:
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


def _keep(_: Decoder, fields: Fields) -> Fields:
    return fields


def _build_value_info(_: Decoder, fields: Fields) -> ValueInfo:
    return ValueInfo(fields.get("name", ""), fields.get("type"), _props(fields))


def _int32(value: int) -> int:
    """An int32 or enum field: protobuf keeps the low 32 bits."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def build_tensor(decoder: Decoder, fields: Fields) -> Tensor:
    """A tensor of decoded fields, its elements brought into the form of ``raw_data``."""
    data_type = fields.get("data_type", 0)
    tensor = Tensor(
        fields.get("name", ""),
        decoder.varints(fields.get("dims", b"")),
        data_type if 0 <= data_type < 1 << 31 else _int32(data_type),
    )
    if fields.get("data_location") == _EXTERNAL:
        tensor.external = _props(fields, "external_data")
        length = tensor.external.get("length", "")
        if length.isascii() and length.isdecimal() and len(length) < 20:
            tensor.nbytes = int(length)
        decoder.external.append(tensor)
        return tensor
    data = fields.get("raw_data")
    if data is None:
        strings = fields.get("string_data")
        if strings is not None:
            return _with_strings(tensor, strings)
        data = _typed_elements(decoder, fields, tensor.data_type)
    if data is None and tensor.element_count == 0:
        data = b""
    if isinstance(data, Unread):
        if data.offset >= 0:
            tensor.offset, tensor.nbytes = data.offset, data.nbytes
    elif data is not None:
        tensor.payload, tensor.nbytes = data, len(data)
    return tensor


def _with_strings(tensor: Tensor, strings: list[bytes] | Unread) -> Tensor:
    if not isinstance(strings, Unread):
        tensor.nbytes = sum(map(len, strings))
        if tensor.nbytes + len(strings) <= PAYLOAD_CAP_BYTES:
            tensor.string_data = tuple(strings)
    return tensor


def _typed_elements(decoder: Decoder, fields: Fields, data_type: int) -> bytes | Unread | None:
    """Elements of the ``*_data`` field of the type, as ``raw_data`` would hold them."""
    name = typed_field(data_type)
    data: bytearray | Unread | None = fields.get(name)
    if data is None:
        return None
    if name in ("float_data", "double_data"):
        return data if isinstance(data, Unread) else bytes(data)
    if isinstance(data, Unread):
        # The length of a run of varints does not say how many bytes its elements are.
        return Unread(-1, -1)
    return pack_integers(data_type, decoder.varints(data))


def _build_sparse(decoder: Decoder, fields: Fields) -> SparseTensor:
    return SparseTensor(
        fields.get("values") or Tensor(),
        fields.get("indices") or Tensor(),
        decoder.varints(fields.get("dims", b"")),
    )


_LISTS = ("tensors", "graphs", "strings", "sparse_tensors", "type_protos")
_SINGLES = ("f", "i", "s", "t", "g", "tp", "sparse_tensor")
_TYPE_OF_FIELD = {
    "f": AttributeType.FLOAT,
    "i": AttributeType.INT,
    "s": AttributeType.STRING,
    "t": AttributeType.TENSOR,
    "g": AttributeType.GRAPH,
    "tp": AttributeType.TYPE_PROTO,
    "sparse_tensor": AttributeType.SPARSE_TENSOR,
    "floats": AttributeType.FLOATS,
    "ints": AttributeType.INTS,
    "strings": AttributeType.STRINGS,
    "tensors": AttributeType.TENSORS,
    "graphs": AttributeType.GRAPHS,
    "sparse_tensors": AttributeType.SPARSE_TENSORS,
    "type_protos": AttributeType.TYPE_PROTOS,
}


def build_attribute(decoder: Decoder, fields: Fields) -> Attribute:
    """An attribute; one without a type (before IR version 2) gets it from the field in use."""
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
        if "type" not in fields and value:
            kind = _TYPE_OF_FIELD[name]
    attribute.type = kind
    attribute.ref_attr_name = fields.get("ref_attr_name", "")
    return attribute


def _build_node(_: Decoder, fields: Fields) -> Node:
    return Node(
        fields.get("name", ""),
        fields.get("op_type", ""),
        fields.get("domain", ""),
        fields.get("overload", ""),
        fields.get("input", []),
        fields.get("output", []),
        fields.get("attribute", []),
        _props(fields),
    )


def _build_graph(_: Decoder, fields: Fields) -> Graph:
    known: Fields = {name: fields[name] for name in _GRAPH_LISTS if name in fields}
    return Graph(
        fields.get("name", ""),
        quantization_annotation=dict(fields.get("quantization_annotation", ())),
        metadata_props=_props(fields),
        **known,
    )


_GRAPH_LISTS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info")


def _build_function(_: Decoder, fields: Fields) -> Function:
    return Function(**{**fields, "metadata_props": _props(fields)})


def _build_model(_: Decoder, fields: Fields) -> Model | None:
    if "graph" not in fields:
        return None
    return Model(**{**fields, "metadata_props": _props(fields)})


def _texts(**numbers: int) -> dict[int, Field]:
    return {number: Field(name, Kind.TEXT) for name, number in numbers.items()}


def _messages(of: str, **numbers: int) -> dict[int, Field]:
    return {number: Field(name, Kind.MESSAGE, of, many=True) for name, number in numbers.items()}


_TYPE_TENSOR = {
    1: Field("elem_type", Kind.INT),
    2: Field("shape", Kind.MESSAGE, "TensorShapeProto"),
}
_ELEM = {1: Field("elem", Kind.MESSAGE, "TypeProto")}


_TABLES: dict[str, tuple[Callable[[Decoder, Fields], Any], dict[int, Field]]] = {
    "StringStringEntryProto": (_build_entry, _texts(key=1, value=2)),
    "OperatorSetIdProto": (_build_opset, {**_texts(domain=1), 2: Field("version", Kind.INT)}),
    "TensorAnnotation": (
        _build_annotation,
        {
            **_texts(tensor_name=1),
            **_messages("StringStringEntryProto", quant_parameter_tensor_names=2),
        },
    ),
    "Dimension": (_build_dim, {1: Field("dim_value", Kind.INT), 2: Field("dim_param", Kind.TEXT)}),
    "TensorShapeProto": (_build_shape, _messages("Dimension", dim=1)),
    "TypeProto.Tensor": (_keep, _TYPE_TENSOR),
    "TypeProto.Sequence": (_keep, _ELEM),
    "TypeProto.Map": (
        _keep,
        {1: Field("key_type", Kind.INT), 2: Field("elem", Kind.MESSAGE, "TypeProto")},
    ),
    "TypeProto.Opaque": (_keep, {}),
    "TypeProto": (
        _build_type,
        {
            1: Field("tensor", Kind.MESSAGE, "TypeProto.Tensor"),
            4: Field("seq", Kind.MESSAGE, "TypeProto.Sequence"),
            5: Field("map", Kind.MESSAGE, "TypeProto.Map"),
            7: Field("opaque", Kind.MESSAGE, "TypeProto.Opaque"),
            8: Field("sparse_tensor", Kind.MESSAGE, "TypeProto.Tensor"),
            9: Field("optional", Kind.MESSAGE, "TypeProto.Sequence"),
        },
    ),
    "ValueInfoProto": (
        _build_value_info,
        {
            **_texts(name=1),
            2: Field("type", Kind.MESSAGE, "TypeProto"),
            **_messages("StringStringEntryProto", metadata_props=4),
        },
    ),
    "TensorProto": (
        build_tensor,
        {
            1: Field("dims", Kind.INTS),
            2: Field("data_type", Kind.INT),
            4: Field("float_data", Kind.FLOATS, weight=True),
            5: Field("int32_data", Kind.INTS, weight=True),
            6: Field("string_data", Kind.BYTES, many=True, weight=True),
            7: Field("int64_data", Kind.INTS, weight=True),
            8: Field("name", Kind.TEXT),
            9: Field("raw_data", Kind.ELEMENTS, weight=True),
            10: Field("double_data", Kind.DOUBLES, weight=True),
            11: Field("uint64_data", Kind.INTS, weight=True),
            **_messages("StringStringEntryProto", external_data=13),
            14: Field("data_location", Kind.INT),
        },
    ),
    "SparseTensorProto": (
        _build_sparse,
        {
            1: Field("values", Kind.MESSAGE, "TensorProto"),
            2: Field("indices", Kind.MESSAGE, "TensorProto"),
            3: Field("dims", Kind.INTS),
        },
    ),
    "AttributeProto": (
        build_attribute,
        {
            **_texts(name=1, ref_attr_name=21),
            2: Field("f", Kind.FLOAT),
            3: Field("i", Kind.INT),
            4: Field("s", Kind.BYTES),
            5: Field("t", Kind.MESSAGE, "TensorProto"),
            6: Field("g", Kind.MESSAGE, "GraphProto"),
            7: Field("floats", Kind.FLOATS),
            8: Field("ints", Kind.INTS),
            9: Field("strings", Kind.BYTES, many=True),
            **_messages("TensorProto", tensors=10),
            **_messages("GraphProto", graphs=11),
            14: Field("tp", Kind.MESSAGE, "TypeProto"),
            **_messages("TypeProto", type_protos=15),
            20: Field("type", Kind.INT),
            22: Field("sparse_tensor", Kind.MESSAGE, "SparseTensorProto"),
            **_messages("SparseTensorProto", sparse_tensors=23),
        },
    ),
    "NodeProto": (
        _build_node,
        {
            1: Field("input", Kind.TEXT, many=True),
            2: Field("output", Kind.TEXT, many=True),
            **_texts(name=3, op_type=4, domain=7, overload=8),
            **_messages("AttributeProto", attribute=5),
            **_messages("StringStringEntryProto", metadata_props=9),
        },
    ),
    "GraphProto": (
        _build_graph,
        {
            **_messages("NodeProto", node=1),
            **_texts(name=2),
            **_messages("TensorProto", initializer=5),
            **_messages("ValueInfoProto", input=11, output=12, value_info=13),
            **_messages("TensorAnnotation", quantization_annotation=14),
            **_messages("SparseTensorProto", sparse_initializer=15),
            **_messages("StringStringEntryProto", metadata_props=16),
        },
    ),
    "FunctionProto": (
        _build_function,
        {
            **_texts(name=1, domain=10, overload=13),
            4: Field("input", Kind.TEXT, many=True),
            5: Field("output", Kind.TEXT, many=True),
            6: Field("attribute", Kind.TEXT, many=True),
            **_messages("NodeProto", node=7),
            **_messages("OperatorSetIdProto", opset_import=9),
            **_messages("AttributeProto", attribute_proto=11),
            **_messages("ValueInfoProto", value_info=12),
            **_messages("StringStringEntryProto", metadata_props=14),
        },
    ),
    "ModelProto": (
        _build_model,
        {
            1: Field("ir_version", Kind.INT),
            **_texts(producer_name=2, producer_version=3, domain=4, doc_string=6),
            5: Field("model_version", Kind.INT),
            7: Field("graph", Kind.MESSAGE, "GraphProto"),
            **_messages("OperatorSetIdProto", opset_import=8),
            **_messages("StringStringEntryProto", metadata_props=14),
            **_messages("FunctionProto", functions=25),
        },
    ),
}

_FAST = {
    "NodeProto": read_node,
    "TensorProto": read_tensor,
    "ValueInfoProto": read_value_info,
    "StringStringEntryProto": read_entry,
}

MESSAGES = {
    name: Message(name, fields, build, _FAST.get(name), name in ("GraphProto", "TypeProto"))
    for name, (build, fields) in _TABLES.items()
}
