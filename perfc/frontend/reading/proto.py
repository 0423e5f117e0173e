"""The messages of onnx.proto3 as plain Python objects, with the names ONNX gives them.

Equal attributes and types may be one shared object: treat everything here as immutable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, IntEnum
from typing import TypeAlias

from perfc.ir import mutable, record

from ..lowering.elements import Scalar, unpack_elements


class _NoProps(Mapping[str, str]):
    """The empty mapping that all objects without properties share."""

    __slots__ = ()

    def __getitem__(self, key: str) -> str:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0  # a mapping has no hash, without which dataclasses refuse a default

    def __repr__(self) -> str:
        return "{}"


NO_PROPS: Mapping[str, str] = _NoProps()
"""Metadata of messages without any, one immutable object for all of them."""
Dim = int | str | None
"""Extent as a number, as a symbol or unknown."""


class AttributeType(IntEnum):
    """Which field of an attribute is in use (``AttributeProto.AttributeType``)."""

    UNDEFINED = 0
    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12
    TYPE_PROTO = 13
    TYPE_PROTOS = 14


class TypeKind(Enum):
    """Which member of the ``TypeProto.value`` oneof is set."""

    UNDEFINED = "undefined"
    TENSOR = "tensor"
    SPARSE_TENSOR = "sparse_tensor"
    SEQUENCE = "seq"
    OPTIONAL = "optional"
    MAP = "map"
    OPAQUE = "opaque"


@record
class TypeProto:
    """Type of a value, tagged by ``kind``.

    Args:
        kind: kind of the type, which decides the other fields that are used.
        elem_type: ONNX data type of a tensor's or sparse tensor's elements, 0 if unknown.
        shape: extents, each a number as written (exporters do write -1), a symbol, or None; None in
            place of the tuple for a tensor of unknown rank.
        elem: element of a sequence or an optional, value of a map.
        key_type: ONNX data type of a map's keys.
    """

    kind: TypeKind
    elem_type: int = 0
    shape: tuple[Dim, ...] | None = None
    elem: TypeProto | None = None
    key_type: int = 0


@mutable
class ProtoTensor:
    """A constant: its type always, its elements only when they are few.

    Args:
        name: name of the value that it is.
        dims: extents as written; those of a damaged file may be negative.
        data_type: ONNX data type, as written.
        payload: little-endian elements as in ``raw_data``; None if they were not read.
        nbytes: bytes of its elements in the file; None if the file does not say.
        offset: position in the file of elements that were left unread.
        external: location, offset and length of elements stored in another file; small ones are
            read from there.
        string_data: elements of a string tensor; None if they were not read.
    """

    name: str = ""
    dims: tuple[int, ...] = ()
    data_type: int = 0
    payload: bytes | None = None
    nbytes: int | None = None
    offset: int | None = None
    external: Mapping[str, str] | None = None
    string_data: tuple[bytes, ...] | None = None

    @property
    def element_count(self) -> int | None:
        """Return the product of the extents; None if one is negative."""
        count = 1
        for dim in self.dims:
            if dim < 0:
                return None
            count *= dim
        return count

    def values(self) -> tuple[Scalar, ...] | None:
        """Return the elements in row-major order.

        None if they were not read, or are not as many as the extents say.
        """
        count = self.element_count
        if count is None:
            return None
        if self.string_data is not None:
            return self.string_data if len(self.string_data) == count else None
        if self.payload is None:
            return None
        return unpack_elements(self.data_type, self.payload, count)

    @property
    def content_digest(self) -> str | None:
        """Return SHA-256 over data type, dims and elements; None if they were not read."""
        if self.payload is None and self.string_data is None:
            return None
        digest = hashlib.sha256(f"{self.data_type}:{list(self.dims)}:".encode())
        # lengths separate the strings: ab and c are not a and bc
        for piece in self.string_data or ():
            digest.update(f"{len(piece)}:".encode() + piece)
        digest.update(self.payload or b"")
        return digest.hexdigest()


@mutable
class SparseTensor:
    """A constant in coordinate form."""

    values: ProtoTensor
    indices: ProtoTensor
    dims: tuple[int, ...] = ()


@mutable
class ValueInfo:
    """Name and declared type of a value."""

    name: str = ""
    type: TypeProto | None = None
    metadata_props: Mapping[str, str] = NO_PROPS


@mutable
class Attribute:
    """A named constant of a node; ``type`` says which field is in use, ``value`` reads it."""

    name: str = ""
    type: AttributeType = AttributeType.UNDEFINED
    f: float = 0.0
    i: int = 0
    s: bytes = b""
    t: ProtoTensor | None = None
    g: ProtoGraph | None = None
    tp: TypeProto | None = None
    sparse_tensor: SparseTensor | None = None
    floats: tuple[float, ...] = ()
    ints: tuple[int, ...] = ()
    strings: tuple[bytes, ...] = ()
    tensors: tuple[ProtoTensor, ...] = ()
    graphs: tuple[ProtoGraph, ...] = ()
    sparse_tensors: tuple[SparseTensor, ...] = ()
    type_protos: tuple[TypeProto, ...] = ()
    ref_attr_name: str = ""

    @property
    def value(self) -> AttributeValue:
        """Return the field that ``type`` names; None for a reference to a function's attribute."""
        name = FIELD_OF_TYPE.get(self.type)
        if name is None or self.ref_attr_name:
            return None
        value: AttributeValue = getattr(self, name)
        return value


FIELD_OF_TYPE = {
    AttributeType.FLOAT: "f",
    AttributeType.INT: "i",
    AttributeType.STRING: "s",
    AttributeType.TENSOR: "t",
    AttributeType.GRAPH: "g",
    AttributeType.FLOATS: "floats",
    AttributeType.INTS: "ints",
    AttributeType.STRINGS: "strings",
    AttributeType.TENSORS: "tensors",
    AttributeType.GRAPHS: "graphs",
    AttributeType.SPARSE_TENSOR: "sparse_tensor",
    AttributeType.SPARSE_TENSORS: "sparse_tensors",
    AttributeType.TYPE_PROTO: "tp",
    AttributeType.TYPE_PROTOS: "type_protos",
}
"""Field of `Attribute` that holds the value of each type."""


SOURCE = "source"
"""Property of a node: files and lines of the code that calls it, one a line of text."""


@mutable
class ProtoNode:
    """One call of an operator or function; an empty name is an omitted input or output."""

    name: str = ""
    op_type: str = ""
    domain: str = ""
    overload: str = ""
    input: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    attribute: list[Attribute] = field(default_factory=list)
    metadata_props: Mapping[str, str] = NO_PROPS
    doc_string: str = ""


@mutable
class ProtoGraph:
    """Nodes in the file's order, with the constants and the declared types of values."""

    name: str = ""
    node: list[ProtoNode] = field(default_factory=list)
    initializer: list[ProtoTensor] = field(default_factory=list)
    sparse_initializer: list[SparseTensor] = field(default_factory=list)
    input: list[ValueInfo] = field(default_factory=list)
    output: list[ValueInfo] = field(default_factory=list)
    value_info: list[ValueInfo] = field(default_factory=list)
    quantization_annotation: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    metadata_props: Mapping[str, str] = NO_PROPS


@mutable
class Function:
    """A function that the model file defines: nodes over named inputs and attributes."""

    name: str = ""
    domain: str = ""
    overload: str = ""
    input: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    attribute: list[str] = field(default_factory=list)
    attribute_proto: list[Attribute] = field(default_factory=list)
    node: list[ProtoNode] = field(default_factory=list)
    opset_import: list[tuple[str, int]] = field(default_factory=list)
    value_info: list[ValueInfo] = field(default_factory=list)
    metadata_props: Mapping[str, str] = NO_PROPS


Contents: TypeAlias = tuple[str, tuple[tuple[str, int, int], ...]]
"""Digest of contents that lie in other files, and their places: file, offset, bytes."""
NOTHING: Contents = ("", ())
"""Contents of a model that refers to no other file."""


@record
class FileOrigin:
    """Origin of a model: its file and digest.

    Args:
        path: path as the caller wrote it; empty for a model given as bytes.
        nbytes: size of the serialized model, decompressed.
        sha256: digest of all bytes that were read, of other files too; elements of large tensors
            are not read.
        files: other files that small contents were read from, as the model names them.
        contents: digest of the contents of other files alone, and their places, whether they could
            be read or not.
    """

    path: str = ""
    nbytes: int = 0
    sha256: str = ""
    files: tuple[str, ...] = ()
    contents: Contents = NOTHING


@record
class SymbolRange:
    """Values of a symbol that a model file allows.

    Args:
        lo: least value.
        hi: greatest value; None if it is unbounded.
    """

    lo: int = 0
    hi: int | None = None


@mutable
class ProtoModel:
    """A model file; ``opset_import`` has the file's order and its spelling of the domains.

    ``ranges`` are those of its symbols. ``examples`` are, by input, the sizes that its symbolic
    extents had when the model was exported; None for an extent that is a number.
    """

    ir_version: int = 0
    opset_import: list[tuple[str, int]] = field(default_factory=list)
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    model_version: int = 0
    doc_string: str = ""
    metadata_props: Mapping[str, str] = NO_PROPS
    graph: ProtoGraph = field(default_factory=ProtoGraph)
    functions: list[Function] = field(default_factory=list)
    origin: FileOrigin = field(default_factory=FileOrigin)
    ranges: Mapping[str, SymbolRange] = field(default_factory=dict)
    examples: Mapping[str, Sequence[int | None]] = field(default_factory=dict)


AttributeValue = (
    float
    | int
    | bytes
    | ProtoTensor
    | ProtoGraph
    | SparseTensor
    | TypeProto
    | tuple[float, ...]
    | tuple[int, ...]
    | tuple[bytes, ...]
    | tuple[ProtoTensor, ...]
    | tuple[ProtoGraph, ...]
    | tuple[SparseTensor, ...]
    | tuple[TypeProto, ...]
    | None
)
