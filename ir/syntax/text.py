"""Print modules in the text form, which :mod:`perfc.ir.syntax.parse` reads back exactly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import TypeAlias

from .. import (
    NOWHERE,
    Dim,
    DType,
    Graph,
    Known,
    Loc,
    MapType,
    ModelOrigin,
    Module,
    Node,
    Op,
    OptionalType,
    Phase,
    Poly,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
    Value,
    Weight,
)
from ..symbolic.dim import Atom, AtomKind
from ..tensors.known import literal
from .names import value_key

VERSION = 1
"""Version of the text form, in its first line; a reader refuses others."""

FactTable: TypeAlias = "Mapping[str, Mapping[Node, Mapping[str, object]]]"
"""Facts by the analysis that produced them, then by node, then by name."""


def print_module(
    module: Module, *, facts: FactTable | None = None, has_sources: bool = True
) -> str:
    """Return the module as text; ``facts`` are printed as ``!`` lines below their nodes.

    Without ``has_sources``, the lines of code that nodes come from are left out.

    >>> from perfc.ir import Graph, Module
    >>> print(print_module(Module(Graph("g", (), ()))), end="")
    perfir 1
    module @g
    <BLANKLINE>
    graph @main() {
      return
    }
    """
    printer = _Printer(facts or {}, has_sources=has_sources)
    head = [f"perfir {VERSION}", f"module @{value_key(module.name)}{_origin(module.origin)}"]
    declared = set()
    for s in module.symbols:
        declared.add(s.name)
        head.append(f"dim {s.name} in {s.lo}..{'' if s.hi is None else s.hi} = {s.default}")
    for atom in free_symbols(module):
        if atom.key not in declared:
            hi = "" if atom.hi is None else atom.hi
            head.append(f"extent {atom.key} in {atom.lo}..{hi}")
    printer.graph(module.graph, "main", "")
    return "\n".join([*head, "", *printer.lines, ""])


def all_values(graph: Graph) -> Iterator[Value]:
    """Yield every value that ``graph`` and its regions define."""
    yield from graph.inputs
    yield from graph.weights
    for node in graph.nodes:
        for v in node.outputs:
            if v is not None:
                yield v
        for region in node.regions:
            yield from all_values(region)


def free_symbols(module: Module) -> tuple[Atom, ...]:
    """Return symbols in types, contents and ranges, each after the symbols of its range."""
    # a dictionary as an ordered set; `seen` are extents and types that need no second visit
    result: dict[Atom, None] = {}
    seen: set[object] = set()

    def visit(d: Dim | None) -> None:
        if not isinstance(d, Poly) or d in seen:
            return
        seen.add(d)
        for atom in d.atoms():
            # quotients, minima and maxima are atoms as well, whose arguments contain symbols
            if atom.kind is not AtomKind.SYMBOL:
                for a in atom.args:
                    visit(a)
            elif atom not in result:
                # first, since a range may refer only to symbols that are declared above it
                visit(atom.hi)
                result[atom] = None

    for s in module.symbols:
        visit(s.hi)
    for value in all_values(module.graph):
        if value.type not in seen:
            seen.add(value.type)
            for d in _dims_of(value.type):
                visit(d)
        if value.known is not None and not isinstance(value.type, SequenceType):
            for item in value.known.items:
                if isinstance(item, Poly):
                    visit(item)
    return tuple(result)


def _dims_of(type_: Type) -> Iterable[Dim | None]:
    """Return extents of tensors and lengths of sequences in a type."""
    match type_:
        case TensorType(shape=shape):
            return shape or ()
        case SequenceType(elem=elem, length=length, items=items):
            return (*_dims_of(elem), length, *(d for t in items or () for d in _dims_of(t)))
        case OptionalType(elem=elem):
            return _dims_of(elem)
        case MapType(value=value):
            return _dims_of(value)
        case _:
            return ()


def _origin(origin: ModelOrigin) -> str:
    """Return where a module was read from; the default domain of ONNX alone is one number."""
    opset: object = origin.opsets
    if len(origin.opsets) == 1 and origin.opsets[0][0] == "":
        opset = origin.opsets[0][1]
    shown = {
        "source": origin.path,
        "digest": origin.digest,
        "producer": origin.producer,
        "ir_version": origin.ir_version,
        "opset": opset,
    }
    return _braces((k, v) for k, v in shown.items() if v)


def _braces(pairs: Iterable[tuple[str, object]]) -> str:
    """Return `` {name=value, …}`` with the space before it, "" without fields."""
    shown = ", ".join([f"{name}={attribute(value)}" for name, value in pairs])
    return f" {{{shown}}}" if shown else ""


def attribute(value: object) -> str:
    """Return a field of an operator, or a fact, as text.

    Raises:
        TypeError: the text form does not support this Python type.
    """
    match value:
        # before numbers: a bool is an int
        case bool():
            return "true" if value else "false"
        case DType():
            return f'"{value.code}"'
        case Enum():
            return json.dumps(value.value if isinstance(value.value, str) else value.name)
        case int() | float() | Poly():
            return str(value)
        case str():
            return json.dumps(value)
        case tuple():
            return f"[{', '.join([attribute(v) for v in value])}]"
        case None:
            return "none"
        case Known():
            shape = ", ".join(map(str, value.shape))
            return f"known({shape})[{', '.join(map(literal, value.items))}]"
        case bytes():
            return f'bytes("{value.hex()}")'
        case TensorType() | SequenceType() | OptionalType() | MapType() | UnknownType():
            return f"type({value})"
        case _:
            raise TypeError(f"no text form for {type(value).__name__} {value!r}")


def _loc(loc: Loc, has_source: bool) -> str:
    """Return the origin of a node; ``frames`` and files only if ``has_source``."""
    # identity first: it is faster, and most nodes without an origin share NOWHERE
    if loc is NOWHERE or loc == NOWHERE:
        return ""
    frames = loc.frames if has_source else ()
    in_file = loc.in_file if has_source else ""
    is_forward = loc.phase is Phase.FORWARD
    parts = [json.dumps(loc.name)]
    # the second place is the type of operator, so it is written, even if "", before other parts
    if loc.op_type or loc.is_expanded or not is_forward or frames or in_file:
        parts.append(json.dumps(loc.op_type))
    if loc.is_expanded:
        parts.append("expanded")
    if not is_forward:
        parts.append(loc.phase.value)
    parts += [f"at {json.dumps(frame)}" for frame in frames]
    if in_file:
        parts.append(f"in_file {json.dumps(in_file)}")
    return f" loc({', '.join(parts)})"


class _Printer:
    """Collects lines; caches printed names, types and operators."""

    def __init__(self, facts: FactTable, *, has_sources: bool) -> None:
        self.facts, self.has_sources = facts, has_sources
        self.lines: list[str] = []
        self._refs: dict[Value | None, str] = {None: "_"}
        self._types: dict[Type, str] = {}
        self._fields: dict[type[Op], list[tuple[str, object]]] = {}

    def graph(self, graph: Graph, name: str, indent: str) -> None:
        """Add the lines of a graph and its regions."""
        inputs = ", ".join([f"{self._ref(v)}: {self._typed(v)}" for v in graph.inputs])
        self.lines.append(f"{indent}graph @{name}({inputs}) {{")
        inner = indent + "  "
        for value in graph.weights:
            about = _braces(_weight(value.weight or Weight()))
            self.lines.append(f"{inner}{self._ref(value)} = weight{about} : {self._typed(value)}")
        for node in graph.nodes:
            self.node(node, inner)
        outputs = ", ".join([self._ref(v) for v in graph.outputs])
        self.lines.append(f"{inner}return {outputs}" if outputs else f"{inner}return")
        self.lines.append(f"{indent}}}")

    def node(self, node: Node, indent: str) -> None:
        """Add the line of a node, its regions, and its facts."""
        results = types = ""
        if node.outputs:
            results = ", ".join([self._ref(v) for v in node.outputs]) + " = "
            types = " : " + ", ".join(["_" if v is None else self._typed(v) for v in node.outputs])
        inputs = ", ".join([self._ref(v) for v in node.inputs])
        call = f"{node.op.mnemonic}({inputs}){self._op(node.op)}"
        line = f"{indent}{results}{call}{types}{_loc(node.loc, self.has_sources)}"
        if node.regions:
            self.lines.append(line + " {")
            for region in node.regions:
                self.graph(region, value_key(region.name), indent + "  ")
            self.lines.append(f"{indent}}}")
        else:
            self.lines.append(line)
        for analysis, table in self.facts.items():
            if node in table:
                shown = _braces(table[node].items()) or " {}"
                self.lines.append(f"{indent}  ! {analysis}{shown}")

    def _ref(self, value: Value | None) -> str:
        """Return ``%name``, or ``_`` for an operand or result that is left out."""
        text = self._refs.get(value)
        if text is None and value is not None:
            text = self._refs[value] = f"%{value_key(value.name)}"
        return text or "_"

    def _typed(self, value: Value) -> str:
        """Return the type and the content, if it is known."""
        text = self._types.get(value.type)
        if text is None:
            text = self._types[value.type] = str(value.type)
        # contents of a sequence follow from those of its elements, so they are not printed
        is_shown = value.known is not None and not isinstance(value.type, SequenceType)
        return f"{text} = {value.known}" if is_shown else text

    def _op(self, op: Op) -> str:
        """Return the fields of an operator that differ from their defaults."""
        cls = type(op)
        defaults = self._fields.get(cls)
        if defaults is None:
            defaults = self._fields[cls] = [(f.name, f.default) for f in fields(op)]
        shown = []
        for name, default in defaults:
            value = getattr(op, name)
            # -0.0 equals 0.0 and True equals 1, yet they print differently
            if value is not default and (value != default or repr(value) != repr(default)):
                shown.append((name, value))
        return _braces(shown) if shown else ""


def _weight(weight: Weight) -> Iterator[tuple[str, object]]:
    """Yield the fields of a weight that differ from their defaults, by their printed names."""
    if weight.nbytes is not None:
        yield "bytes", weight.nbytes
    if weight.digest:
        yield "digest", weight.digest
    if weight.location:
        yield "location", weight.location
    if not weight.is_parameter:
        yield "constant", True
    if weight.is_state:
        yield "state", True
    if weight.is_resident:
        yield "resident", True
    if weight.shares:
        yield "shares", weight.shares
