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
    ProtoGraph,
    ProtoModel,
    ProtoNode,
    ProtoTensor,
    SparseTensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from ..reading.table import PAYLOAD_CAP_BYTES, Field, FieldKind, Fields, MessageTable, Unread
from ..reading.wire import WireDecoder
from .elements import pack_integers, typed_field

_EXTERNAL = 1
_TYPE_OF_NUMBER = {member.value: member for member in AttributeType}


def _props(fields: Fields, name: str = "metadata_props") -> Mapping[str, str]:
    pairs = fields.get(name)
    return dict(pairs) if pairs else NO_PROPS


def _build_entry(_: WireDecoder, fields: Fields) -> tuple[str, str]:
    return fields.get("key", ""), fields.get("value", "")


def _build_opset(_: WireDecoder, fields: Fields) -> tuple[str, int]:
    return fields.get("domain", ""), fields.get("version", 0)


def _build_annotation(_: WireDecoder, fields: Fields) -> tuple[str, Mapping[str, str]]:
    return fields.get("tensor_name", ""), _props(fields, "quant_parameter_tensor_names")


def _build_dim(_: WireDecoder, fields: Fields) -> Dim:
    for name in reversed(fields):
        value: Dim = fields[name]
        return None if value == "" else value
    return None


def _build_shape(_: WireDecoder, fields: Fields) -> tuple[Dim, ...]:
    return tuple(fields.get("dim", ()))


def _build_type(_: WireDecoder, fields: Fields) -> TypeProto:
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
    return fields


def _build_value_info(_: WireDecoder, fields: Fields) -> ValueInfo:
    return ValueInfo(fields.get("name", ""), fields.get("type"), _props(fields))


def _int32(value: int) -> int:
    """An int32 or enum field: protobuf keeps the low 32 bits."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def build_tensor(decoder: WireDecoder, fields: Fields) -> ProtoTensor:
    """A tensor of decoded fields, its elements brought into the form of ``raw_data``."""
    data_type = fields.get("data_type", 0)
    tensor = ProtoTensor(
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


def _with_strings(tensor: ProtoTensor, strings: list[bytes] | Unread) -> ProtoTensor:
    if not isinstance(strings, Unread):
        tensor.nbytes = sum(map(len, strings))
        if tensor.nbytes + len(strings) <= PAYLOAD_CAP_BYTES:
            tensor.string_data = tuple(strings)
    return tensor


def _typed_elements(decoder: WireDecoder, fields: Fields, data_type: int) -> bytes | Unread | None:
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


def _build_sparse(decoder: WireDecoder, fields: Fields) -> SparseTensor:
    return SparseTensor(
        fields.get("values") or ProtoTensor(),
        fields.get("indices") or ProtoTensor(),
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


def build_attribute(decoder: WireDecoder, fields: Fields) -> Attribute:
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
    )


def _build_graph(_: WireDecoder, fields: Fields) -> ProtoGraph:
    known: Fields = {name: fields[name] for name in _GRAPH_LISTS if name in fields}
    return ProtoGraph(
        fields.get("name", ""),
        quantization_annotation=dict(fields.get("quantization_annotation", ())),
        metadata_props=_props(fields),
        **known,
    )


_GRAPH_LISTS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info")


def _build_function(_: WireDecoder, fields: Fields) -> Function:
    return Function(**{**fields, "metadata_props": _props(fields)})


def _build_model(_: WireDecoder, fields: Fields) -> ProtoModel | None:
    if "graph" not in fields:
        return None
    return ProtoModel(**{**fields, "metadata_props": _props(fields)})


def _texts(**numbers: int) -> dict[int, Field]:
    return {number: Field(name, FieldKind.TEXT) for name, number in numbers.items()}


def _messages(of: str, **numbers: int) -> dict[int, Field]:
    return {
        number: Field(name, FieldKind.MESSAGE, of, many=True) for name, number in numbers.items()
    }


_TYPE_TENSOR = {
    1: Field("elem_type", FieldKind.INT),
    2: Field("shape", FieldKind.MESSAGE, "TensorShapeProto"),
}
_ELEM = {1: Field("elem", FieldKind.MESSAGE, "TypeProto")}


_TABLES: dict[str, tuple[Callable[[WireDecoder, Fields], Any], dict[int, Field]]] = {
    "StringStringEntryProto": (_build_entry, _texts(key=1, value=2)),
    "OperatorSetIdProto": (_build_opset, {**_texts(domain=1), 2: Field("version", FieldKind.INT)}),
    "TensorAnnotation": (
        _build_annotation,
        {
            **_texts(tensor_name=1),
            **_messages("StringStringEntryProto", quant_parameter_tensor_names=2),
        },
    ),
    "Dimension": (
        _build_dim,
        {1: Field("dim_value", FieldKind.INT), 2: Field("dim_param", FieldKind.TEXT)},
    ),
    "TensorShapeProto": (_build_shape, _messages("Dimension", dim=1)),
    "TypeProto.Tensor": (_keep, _TYPE_TENSOR),
    "TypeProto.Sequence": (_keep, _ELEM),
    "TypeProto.Map": (
        _keep,
        {1: Field("key_type", FieldKind.INT), 2: Field("elem", FieldKind.MESSAGE, "TypeProto")},
    ),
    "TypeProto.Opaque": (_keep, {}),
    "TypeProto": (
        _build_type,
        {
            1: Field("tensor", FieldKind.MESSAGE, "TypeProto.Tensor"),
            4: Field("seq", FieldKind.MESSAGE, "TypeProto.Sequence"),
            5: Field("map", FieldKind.MESSAGE, "TypeProto.Map"),
            7: Field("opaque", FieldKind.MESSAGE, "TypeProto.Opaque"),
            8: Field("sparse_tensor", FieldKind.MESSAGE, "TypeProto.Tensor"),
            9: Field("optional", FieldKind.MESSAGE, "TypeProto.Sequence"),
        },
    ),
    "ValueInfoProto": (
        _build_value_info,
        {
            **_texts(name=1),
            2: Field("type", FieldKind.MESSAGE, "TypeProto"),
            **_messages("StringStringEntryProto", metadata_props=4),
        },
    ),
    "TensorProto": (
        build_tensor,
        {
            1: Field("dims", FieldKind.INTS),
            2: Field("data_type", FieldKind.INT),
            4: Field("float_data", FieldKind.FLOATS, weight=True),
            5: Field("int32_data", FieldKind.INTS, weight=True),
            6: Field("string_data", FieldKind.BYTES, many=True, weight=True),
            7: Field("int64_data", FieldKind.INTS, weight=True),
            8: Field("name", FieldKind.TEXT),
            9: Field("raw_data", FieldKind.ELEMENTS, weight=True),
            10: Field("double_data", FieldKind.DOUBLES, weight=True),
            11: Field("uint64_data", FieldKind.INTS, weight=True),
            **_messages("StringStringEntryProto", external_data=13),
            14: Field("data_location", FieldKind.INT),
        },
    ),
    "SparseTensorProto": (
        _build_sparse,
        {
            1: Field("values", FieldKind.MESSAGE, "TensorProto"),
            2: Field("indices", FieldKind.MESSAGE, "TensorProto"),
            3: Field("dims", FieldKind.INTS),
        },
    ),
    "AttributeProto": (
        build_attribute,
        {
            **_texts(name=1, ref_attr_name=21),
            2: Field("f", FieldKind.FLOAT),
            3: Field("i", FieldKind.INT),
            4: Field("s", FieldKind.BYTES),
            5: Field("t", FieldKind.MESSAGE, "TensorProto"),
            6: Field("g", FieldKind.MESSAGE, "GraphProto"),
            7: Field("floats", FieldKind.FLOATS),
            8: Field("ints", FieldKind.INTS),
            9: Field("strings", FieldKind.BYTES, many=True),
            **_messages("TensorProto", tensors=10),
            **_messages("GraphProto", graphs=11),
            14: Field("tp", FieldKind.MESSAGE, "TypeProto"),
            **_messages("TypeProto", type_protos=15),
            20: Field("type", FieldKind.INT),
            22: Field("sparse_tensor", FieldKind.MESSAGE, "SparseTensorProto"),
            **_messages("SparseTensorProto", sparse_tensors=23),
        },
    ),
    "NodeProto": (
        _build_node,
        {
            1: Field("input", FieldKind.TEXT, many=True),
            2: Field("output", FieldKind.TEXT, many=True),
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
            4: Field("input", FieldKind.TEXT, many=True),
            5: Field("output", FieldKind.TEXT, many=True),
            6: Field("attribute", FieldKind.TEXT, many=True),
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
            1: Field("ir_version", FieldKind.INT),
            **_texts(producer_name=2, producer_version=3, domain=4, doc_string=6),
            5: Field("model_version", FieldKind.INT),
            7: Field("graph", FieldKind.MESSAGE, "GraphProto"),
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
    name: MessageTable(name, fields, build, _FAST.get(name), name in ("GraphProto", "TypeProto"))
    for name, (build, fields) in _TABLES.items()
}
