"""Messages of ONNX that an exported program becomes, made node by node."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from perfc.ir.record import mutable, record

from ..lowering.elements import DataType
from ..lowering.learned import KIND
from ..reading.proto import (
    SOURCE,
    Attribute,
    AttributeType,
    ProtoGraph,
    ProtoNode,
    ProtoTensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from .sizes import Size, size_of, text_of

FLOATS = frozenset({DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16})
"""Element types of floating-point arithmetic."""
ELEMENT_TYPES: Mapping[int, int] = {
    1: DataType.UINT8, 2: DataType.INT8, 3: DataType.INT16, 4: DataType.INT32, 5: DataType.INT64,
    6: DataType.FLOAT16, 7: DataType.FLOAT, 8: DataType.DOUBLE, 10: DataType.COMPLEX64,
    11: DataType.COMPLEX128, 12: DataType.BOOL, 13: DataType.BFLOAT16, 28: DataType.UINT16,
    29: DataType.FLOAT8E4M3FN, 30: DataType.FLOAT8E5M2, 31: DataType.FLOAT8E4M3FNUZ,
    32: DataType.FLOAT8E5M2FNUZ, 33: DataType.FLOAT8E8M0, 34: DataType.UINT32,
    35: DataType.UINT64,
}  # fmt: skip
"""ONNX element types by ``ScalarType``. Source: torch/_export/serde/schema.py."""
CODES: Mapping[int, str] = {
    DataType.FLOAT: "f", DataType.DOUBLE: "d", DataType.FLOAT16: "e", DataType.INT64: "q",
    DataType.INT32: "i", DataType.INT16: "h", DataType.INT8: "b", DataType.UINT8: "B",
    DataType.BOOL: "?", DataType.UINT16: "H", DataType.UINT32: "I", DataType.UINT64: "Q",
}  # fmt: skip
"""Letters of `struct` of the element types of constants."""


@record
class Meta:
    """Element type and extents of a tensor of the program.

    Args:
        dtype: ONNX element type; 0 if unknown.
        sizes: its extents.
    """

    dtype: int
    sizes: tuple[Size, ...]

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return len(self.sizes)

    @property
    def is_float(self) -> bool:
        """Return True for floating-point elements."""
        return self.dtype in FLOATS


UNKNOWN = Meta(0, ())


def meta_of(given: Mapping[str, Any]) -> Meta:
    """Return the type of a ``TensorMeta`` of the schema."""
    sizes = tuple([size_of(s) for s in given["sizes"]])
    return Meta(ELEMENT_TYPES.get(given["dtype"], 0), sizes)


@mutable
class GraphBuilder:
    """Graph in messages of ONNX, in the order of the program.

    Args:
        symbols: names of symbols by PyTorch's.
        axes: an input and its axis for every symbol that is a size of one.
        root: folder that files of sources are named from.
    """

    symbols: dict[str, str] = field(default_factory=dict[str, str])
    axes: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    graph: ProtoGraph = field(default_factory=ProtoGraph)
    constants: dict[object, str] = field(default_factory=dict[object, str])
    attributes: dict[object, Attribute] = field(default_factory=dict[object, Attribute])
    types: dict[object, TypeProto] = field(default_factory=dict[object, TypeProto])
    extents: dict[Size, str] = field(default_factory=dict[Size, str])
    count: int = 0
    root: str = ""

    def fresh(self, stem: str) -> str:
        """Return a new name, which no name of PyTorch has."""
        self.count += 1
        return f"{stem}.{self.count}"

    def type(self, meta: Meta) -> TypeProto:
        """Return the declared type of a tensor; equal ones are one object."""
        made = self.types.get(meta)
        if made is None:
            shape = tuple(text_of(s, self.symbols) for s in meta.sizes)
            made = self.types[meta] = TypeProto(TypeKind.TENSOR, meta.dtype, shape)
        return made

    def declare(self, name: str, meta: Meta) -> None:
        """Record the type of a value."""
        self.graph.value_info.append(ValueInfo(name, self.type(meta)))

    def stored(
        self, name: str, meta: Meta, *, is_parameter: bool, payload: bytes | None = None
    ) -> None:
        """Add a stored tensor; its elements only if they are few."""
        dims = tuple(s if isinstance(s, int) else 1 for s in meta.sizes)
        nbytes = None if payload is None else len(payload)
        self.graph.initializer.append(ProtoTensor(name, dims, meta.dtype, payload, nbytes))
        kind = "PARAMETER" if is_parameter else "BUFFER"
        self.graph.value_info.append(ValueInfo(name, self.type(meta), {KIND: kind}))

    def filled(self, sizes: Sequence[int], dtype: int) -> str:
        """Return a stored tensor that the program has only as a default: ones or zeros."""
        key = "filled", tuple(sizes), dtype
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = self.fresh("constant")
            self.stored(name, Meta(dtype, tuple(sizes)), is_parameter=False)
        return name

    def constant(self, values: Sequence[Any], dtype: int, *, is_scalar: bool = False) -> str:
        """Return a constant of one axis, or a scalar."""
        key = tuple(values), dtype, is_scalar
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = self.fresh("constant")
            dims = () if is_scalar else (len(values),)
            data = packed(values, dtype)
            self.graph.initializer.append(ProtoTensor(name, dims, dtype, data, len(data)))
            info = ValueInfo(name, TypeProto(TypeKind.TENSOR, dtype, dims), {KIND: "CONSTANT"})
            self.graph.value_info.append(info)
        return name

    def attribute(self, name: str, value: Any) -> Attribute:
        """Return an attribute; equal ones are one object."""
        if isinstance(value, ProtoGraph):
            return attribute_of(name, value)
        key = name, type(value), value
        made = self.attributes.get(key)
        if made is None:
            made = self.attributes[key] = attribute_of(name, value)
        return made

    def node(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], name: str,
        attributes: Mapping[str, Any], domain: str = "", source: str = "",
    ) -> None:  # fmt: skip
        """Append a node.

        Args:
            op_type: operator.
            inputs: values it reads; empty for an omitted one.
            outputs: values it makes.
            name: name with the path of its module.
            attributes: values by name; None is left out.
            domain: domain of the operator.
            source: line of the program that called it.
        """
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        made = [self.attribute(k, v) for k, v in attributes.items() if v is not None]
        props = {SOURCE: source} if source else {}
        self.graph.node.append(
            ProtoNode(name, op_type, domain, "", given, list(outputs), made, props)
        )

    def settle(
        self, start: int, made: Sequence[str], names: Sequence[str], metas: Sequence[Meta]
    ) -> list[str]:
        """Give results names and types, unless they are earlier values; return their names.

        Args:
            start: first node of those that make the results.
            made: the results.
            names: their names in the model.
            metas: their types.
        """
        nodes = self.graph.node[start:]
        new = {name for node in nodes for name in node.output}
        renamed: dict[str, str] = {}
        for value, name, meta in zip(made, names, metas, strict=False):
            if value in new and value not in renamed:
                renamed[value] = name
                self.declare(name, meta)
        for node in nodes:
            node.input = [renamed.get(n, n) for n in node.input]
            node.output = [renamed.get(n, n) for n in node.output]
        return [renamed.get(value, value) for value in made]

    def enter(self) -> tuple[ProtoGraph, dict[object, str], dict[Size, str]]:
        """Begin a graph inside the graph; return the outer one, for `leave`."""
        outer = self.graph, self.constants, self.extents
        # what is made inside is unknown outside
        self.graph = ProtoGraph()
        self.constants, self.extents = dict(self.constants), dict(self.extents)
        return outer

    def leave(self, outer: tuple[ProtoGraph, dict[object, str], dict[Size, str]]) -> ProtoGraph:
        """Return the graph inside, and go on with the outer one."""
        inner = self.graph
        self.graph, self.constants, self.extents = outer
        return inner

    def extent(self, size: Size) -> str:
        """Return a size as a tensor of one element.

        Raises:
            LookupError: a size that no input has.
        """
        if isinstance(size, int):
            return self.constant((size,), DataType.INT64)
        name = self.extents.get(size)
        if name is None:
            name = self.extents[size] = self._extent(size)
        return name

    def _extent(self, size: Size) -> str:
        name = self.fresh("size")
        if isinstance(size, str):
            value, axis = self.axes[size]
            self.node("Shape", (value,), (name,), name, {"start": axis, "end": axis + 1})
            return name
        if not isinstance(size, tuple):
            raise LookupError("unknown size")
        operation, *terms = size
        operator = {"+": "Add", "*": "Mul", "//": "Div", "%": "Mod"}[operation]
        left = self.extent(terms[0])
        for at, term in enumerate(terms[1:], 1):
            right = self.extent(term)
            made = name if at == len(terms) - 1 else self.fresh("size")
            self.node(operator, (left, right), (made,), made, {})
            left = made
        return left


def axis_symbol(name: str, axis: int, meta: Meta, *, has_past: bool = False) -> str:
    """Return the symbol of an extent without a name of an input.

    The first axis is the batch; the second of whole numbers is a sequence.

    >>> axis_symbol("input_ids", 1, Meta(DataType.INT64, (None, None)))
    'seq'
    """
    if axis == 0 and meta.rank > 1:
        return "batch"
    if has_past and "past" in name and axis == meta.rank - 2:
        return "past"
    if axis == 1 and meta.rank == 2 and not meta.is_float:
        return "past + seq" if has_past and "mask" in name else "seq"
    return f"{name}_d{axis}"


class Emitter:
    """Nodes of one operator of a model.

    Args:
        name: name of its first result.
        path: name of its nodes, with the path of its module.
        source: line of the program that called it.
        made: number of its nodes.
    """

    name: str
    path: str
    source: str = ""
    made: int = 0

    @property
    def builder(self) -> GraphBuilder:
        """Return the messages made so far."""
        raise NotImplementedError

    def emit(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node and return its only result."""
        return self.several(op_type, inputs, 1, domain=domain, **attributes)[0]

    def several(
        self, op_type: str, inputs: Iterable[str], count: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Append a node and return its results."""
        names = [self.builder.fresh(self.name) for _ in range(count)]
        path = self.place(op_type)
        self.builder.node(op_type, tuple(inputs), names, path, attributes, domain, self.source)
        return names

    def place(self, op_type: str) -> str:
        """Return the name of the next node, with the path of its module."""
        self.made += 1
        return self.path if self.made == 1 else f"{self.path}.{self.made - 1}"

    def ints(self, *values: int) -> str:
        """Return a constant of one axis."""
        return self.builder.constant(values, DataType.INT64)

    def scalar(self, value: float, dtype: int) -> str:
        """Return a constant scalar."""
        return self.builder.constant((value,), dtype, is_scalar=True)


def attribute_of(name: str, value: Any) -> Attribute:
    """Return an attribute of a number, text, graph, or tuple of numbers."""
    match value:
        case ProtoGraph():
            return Attribute(name, AttributeType.GRAPH, g=value)
        case bool() | int():
            return Attribute(name, AttributeType.INT, i=int(value))
        case float():
            return Attribute(name, AttributeType.FLOAT, f=value)
        case str():
            return Attribute(name, AttributeType.STRING, s=value.encode())
        case _ if all(isinstance(v, int) for v in value):
            return Attribute(name, AttributeType.INTS, ints=tuple(int(v) for v in value))
        case _:
            return Attribute(name, AttributeType.FLOATS, floats=tuple(float(v) for v in value))


def packed(values: Sequence[Any], dtype: int) -> bytes:
    """Return elements as little-endian bytes.

    Raises:
        ValueError: an element type that constants do not have.
    """
    if dtype == DataType.BFLOAT16:
        return b"".join(struct.pack("<f", float(v))[2:] for v in values)
    code = CODES.get(dtype)
    if code is None:
        raise ValueError(f"no constants of element type {dtype}")
    number: Any = float if code in "fde" else bool if code == "?" else int
    try:
        return struct.pack(f"<{len(values)}{code}", *(number(v) for v in values))
    except (struct.error, OverflowError):
        return b"".join(limited(number(v), code) for v in values)


def limited(value: float, code: str) -> bytes:
    """Return a number that is out of range as the closest of its type."""
    if code in "fde":
        return struct.pack(f"<{code}", float("-inf") if value < 0 else float("inf"))
    bits = 8 * struct.calcsize(code)
    least, most = (0, 2**bits - 1) if code.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return struct.pack(f"<{code}", min(max(int(value), least), most))
