"""Build the ONNX messages of a model in another format, node by node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from perfc.ir import mutable, record

from ..reading.proto import (
    SOURCE,
    Attribute,
    AttributeType,
    ProtoGraph,
    ProtoModel,
    ProtoNode,
    ProtoTensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from .elements import FLOATS, DataType, packed
from .learned import KIND

Size = int | str | tuple[Any, ...] | None
"""A number, a symbol, an operation with its operands, or None for anything else."""
OPSET = 23
"""Version of ONNX's operators in the messages."""
LONGEST_REMAINDER = 1024
"""Maximum characters of the dividend and divisor of a remainder in a dimension; a longer one is an
unknown extent. Sizes padded to a multiple have about 20."""


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
    def count(self) -> int:
        """Return the number of elements; 0 if an extent is unknown."""
        return math.prod(s if isinstance(s, int) else 0 for s in self.sizes)

    @property
    def is_float(self) -> bool:
        """Return True for floating-point elements."""
        return self.dtype in FLOATS


UNKNOWN = Meta(0, ())
"""Type of a value of which the program says nothing."""


@mutable
class GraphBuilder:
    """Graph in messages of ONNX, in the order of the program.

    Args:
        symbols: names of symbols, by the names that PyTorch gives them.
        axes: for every symbol that is an extent of an input, the input and the axis.
        graph: messages so far.
        constants: names of constants by content; also every used name, as its own key.
        attributes: attributes by name and value, shared among nodes.
        types: declared types, shared among values.
        extents: names of the values of sizes that are computed from inputs, by size.
        count: number of names made so far.
        root: folder that files of sources are named from.
        calls: number of calls of the program so far, by name.
        parameters: names of the parameters.
    """

    symbols: dict[str, str] = field(default_factory=dict)
    axes: dict[str, tuple[str, int]] = field(default_factory=dict)
    graph: ProtoGraph = field(default_factory=ProtoGraph)
    constants: dict[object, str] = field(default_factory=dict)
    attributes: dict[object, Attribute] = field(default_factory=dict)
    types: dict[object, TypeProto] = field(default_factory=dict)
    extents: dict[Size, str] = field(default_factory=dict)
    count: int = 0
    root: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    parameters: set[str] = field(default_factory=set)

    def fresh(self, stem: str) -> str:
        """Return a name that no value has."""
        self.count += 1
        return self.reserved(f"{stem}.{self.count}")

    def type(self, meta: Meta) -> TypeProto:
        """Return the declared type of a tensor; equal ones are one object."""
        result = self.types.get(meta)
        if result is None:
            shape = tuple(text_of(s, self.symbols) for s in meta.sizes)
            result = self.types[meta] = TypeProto(TypeKind.TENSOR, meta.dtype, shape)
        return result

    def reserved(self, name: str, stem: str = "constant") -> str:
        """Return a name for a value: the name in the model, unless it is empty or used."""
        result = self.fresh(name or stem) if not name or name in self.constants else name
        self.constants[result] = result
        return result

    def input(self, name: str, meta: Meta, *, has_past: bool = False) -> None:
        """Add an input of the model; its unknown extents become symbols."""
        sizes = tuple(
            axis_symbol(name, a, meta, has_past=has_past) if s is None else s
            for a, s in enumerate(meta.sizes)
        )
        self.graph.input.append(ValueInfo(name, self.type(Meta(meta.dtype, sizes))))

    def loop_inputs(self, stem: str, states: Sequence[Meta]) -> list[str]:
        """Add the iteration, condition and states of the body of a loop; return their names."""
        metas = [Meta(DataType.INT64, ()), Meta(DataType.BOOL, ()), *states]
        stems = ["iteration", "condition", *[stem] * len(states)]
        names = [self.fresh(s) for s in stems]
        self.graph.input += [ValueInfo(n, self.type(m)) for n, m in zip(names, metas, strict=True)]
        return names

    def model(self, producer: str, version: str = "") -> ProtoModel:
        """Return the model of the graph.

        Args:
            producer: program that wrote the file.
            version: its version.
        """
        opsets = [("", OPSET), ("com.microsoft", 1)]
        ir_version = 10
        return ProtoModel(ir_version, opsets, producer, version, graph=self.graph)

    def declare(self, name: str, meta: Meta) -> None:
        """Record the type of a value."""
        self.graph.value_info.append(ValueInfo(name, self.type(meta)))

    def stored(
        self, name: str, meta: Meta, *, is_parameter: bool, payload: bytes | None = None
    ) -> None:
        """Add a stored tensor.

        Args:
            name: its name.
            meta: its type; a symbolic extent counts as 1.
            is_parameter: True for a parameter, False for a buffer.
            payload: its elements; None if they are too many to keep.
        """
        dims = tuple(s if isinstance(s, int) else 1 for s in meta.sizes)
        nbytes = None if payload is None else len(payload)
        self.graph.initializer.append(ProtoTensor(name, dims, meta.dtype, payload, nbytes))
        role = "PARAMETER" if is_parameter else "BUFFER"
        if is_parameter:
            self.parameters.add(name)
        self.graph.value_info.append(ValueInfo(name, self.type(meta), {KIND: role}))

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
        result = self.attributes.get(key)
        if result is None:
            result = self.attributes[key] = attribute_of(name, value)
        return result

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        name: str,
        attributes: Mapping[str, Any],
        domain: str = "",
        frames: Sequence[str] = (),
    ) -> None:
        """Append a node.

        Args:
            op_type: operator.
            inputs: values it reads; empty for an omitted one.
            outputs: values it makes.
            name: name with the path of its module.
            attributes: values by name; None is left out.
            domain: domain of the operator.
            frames: lines of the program that call it, outermost first.
        """
        operands = list(inputs)
        # omitted operands at the end are left out
        while operands and not operands[-1]:
            operands.pop()
        messages = [self.attribute(k, v) for k, v in attributes.items() if v is not None]
        props = {SOURCE: "\n".join(frames)} if frames else {}
        self.graph.node.append(
            ProtoNode(name, op_type, domain, "", operands, list(outputs), messages, props)
        )

    def settle(
        self, start: int, results: Sequence[str], names: Sequence[str], metas: Sequence[Meta]
    ) -> list[str]:
        """Give results names and types, unless they are earlier values; return their names.

        Args:
            start: index of the first node that computes one of the results.
            results: current names of the results.
            names: their names in the model; results beyond these keep their current names.
            metas: their types.
        """
        nodes = self.graph.node[start:]
        new = {name for node in nodes for name in node.output}
        renamed: dict[str, str] = {}
        for value, name, meta in zip(results, names, metas, strict=False):
            if value in new and value not in renamed:
                renamed[value] = name
                self.declare(name, meta)
        for node in nodes:
            node.input = [renamed.get(n, n) for n in node.input]
            node.output = [renamed.get(n, n) for n in node.output]
        return [renamed.get(value, value) for value in results]

    def mark(self, *values: dict[Any, Any]) -> Callable[[], None]:
        """Return a function that removes what is added after this call.

        Args:
            values: tables of the caller, from which it removes new entries too.
        """
        graph, constants, extents = self.graph, self.constants, self.extents
        lists: tuple[list[Any], ...] = (graph.node, graph.initializer, graph.value_info)
        tables: tuple[dict[Any, Any], ...] = (constants, extents, *values)
        counts = [len(items) for items in lists]
        sizes = [len(table) for table in tables]

        def undo() -> None:
            self.graph, self.constants, self.extents = graph, constants, extents
            for items, count in zip(lists, counts, strict=True):
                del items[count:]
            for table, size in zip(tables, sizes, strict=True):
                # the newest entries are last
                while len(table) > size:
                    table.popitem()

        return undo

    def enter(self) -> tuple[ProtoGraph, dict[object, str], dict[Size, str]]:
        """Begin a graph inside the graph; return the outer one, for `leave`."""
        outer = self.graph, self.constants, self.extents
        # constants and sizes of the inner graph are unknown outside of it
        self.graph = ProtoGraph()
        self.constants, self.extents = dict(self.constants), dict(self.extents)
        return outer

    def leave(self, outer: tuple[ProtoGraph, dict[object, str], dict[Size, str]]) -> ProtoGraph:
        """Return the graph inside, and go on with the outer one."""
        inner = self.graph
        self.graph, self.constants, self.extents = outer
        return inner

    def extent(self, size: Size) -> str:
        """Return the name of a tensor of one element that holds a size.

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
        """Append the nodes that compute a symbol or an operation; return the name of the result."""
        name = self.fresh("size")
        if isinstance(size, str):
            # a symbol is an extent of an input
            value, axis = self.axes[size]
            self.node("Shape", (value,), (name,), name, {"start": axis, "end": axis + 1})
            return name
        if not isinstance(size, tuple):
            raise LookupError("unknown size")
        operation, *terms = size
        operator = {"+": "Add", "*": "Mul", "//": "Div", "%": "Mod"}[operation]
        result = self.extent(terms[0])
        for i, term in enumerate(terms[1:], 1):
            operands = (result, self.extent(term))
            result = name if i == len(terms) - 1 else self.fresh("size")
            self.node(operator, operands, (result,), result, {})
        return result


def axis_symbol(name: str, axis: int, meta: Meta, *, has_past: bool = False) -> str:
    """Return the symbol of an extent of an input for which the program has no name.

    The first axis is the batch; the second axis of two is the sequence if elements are integers.

    >>> axis_symbol("input_ids", 1, Meta(DataType.INT64, (None, None)))
    'seq'
    """
    # a vector has no batch
    if axis == 0 and meta.rank > 1:
        return "batch"
    # a cache is [batch, heads, tokens, width], a mask covers cached and new tokens
    if has_past and "past" in name and axis == meta.rank - 2:
        return "past"
    if axis == 1 and meta.rank == 2 and not meta.is_float:
        return "past + seq" if has_past and "mask" in name else "seq"
    return f"{name}_d{axis}"


def attribute_of(name: str, value: Any) -> Attribute:
    """Return an attribute of a number, text, graph, or tuple of numbers or texts."""
    match value:
        case ProtoGraph():
            return Attribute(name, AttributeType.GRAPH, g=value)
        case bool() | int():
            return Attribute(name, AttributeType.INT, i=int(value))
        case float():
            return Attribute(name, AttributeType.FLOAT, f=value)
        case str():
            return Attribute(name, AttributeType.STRING, s=value.encode())
        case (str(), *_):
            strings = tuple(v.encode() for v in value)
            return Attribute(name, AttributeType.STRINGS, strings=strings)
        case _ if all(isinstance(v, int) for v in value):
            return Attribute(name, AttributeType.INTS, ints=tuple(int(v) for v in value))
        case _:
            return Attribute(name, AttributeType.FLOATS, floats=tuple(float(v) for v in value))


def text_of(size: Size, names: Mapping[str, str]) -> int | str | None:
    """Return a size as a dimension of ONNX: a number, a name or an expression of names.

    >>> text_of(("+", ("*", 2, "s0"), -1), {"s0": "batch"})
    '2*batch - 1'
    """
    if isinstance(size, int) or size is None:
        return size
    if isinstance(size, str):
        return names.get(size, size)
    operation, *terms = size
    written = [text_of(t, names) for t in terms]
    if None in written:
        return None
    if operation == "+":
        # the first term of a dimension has no sign
        ordered = sorted(map(str, written), key=lambda t: t.startswith("-"))
        if ordered[0].startswith("-"):
            ordered.insert(0, "0")
        return " + ".join(ordered).replace("+ -", "- ")
    parts = [f"({t})" if isinstance(t, str) and not t.isidentifier() else str(t) for t in written]
    if operation == "%":
        # a dimension has no remainders; written with its dividend twice, one in another doubles
        number, divisor = parts
        is_short = len(number) + len(divisor) <= LONGEST_REMAINDER
        return f"{number} - {divisor}*({number}//{divisor})" if is_short else None
    return str(operation).join(parts)


def pooling_window(before: Size, after: Size) -> tuple[int, int]:
    """Return the kernel and stride of a pooling from ``before`` cells of an axis to ``after``.

    Raises:
        ValueError: symbolic extents.
    """
    if not (isinstance(before, int) and isinstance(after, int)):
        raise ValueError("adaptive pooling of symbolic extents")
    stride = max(before // after, 1)
    # the last window ends with the axis
    return max(before - (after - 1) * stride, 1), stride
