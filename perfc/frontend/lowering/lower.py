"""Lowers the messages of a model file to a module of the IR; types are inferred later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import chain

from perfc.errors import ModelError
from perfc.ir.definition import arity_problem
from perfc.ir.graph import Graph, Loc, ModelOrigin, Module, Node, Value, Weight
from perfc.ir.op import BY_ONNX as OPERATORS
from perfc.ir.op import Kind, Op
from perfc.ir.ops import operator_for
from perfc.ir.ops.opaque import Opaque
from perfc.ir.record import entity, mutable
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import UNKNOWN, Type

from ..reading import proto
from .attributes import (
    Built,
    Content,
    Tensors,
    attribute_value,
    build,
    constant_content,
    sparse_content,
)
from .functions import Functions, domain_key, expansion, without
from .learned import unlearned
from .order import label, ordered_subgraphs, topological
from .placement import Placement
from .symbols import SymbolTable

MAX_INLINED = 100_000
"""Nodes that come from functions; functions that call each other can grow without end."""
MAX_DEPTH = 48
"""Nesting of subgraphs and function calls, within what Python allows of recursion."""
NEWEST = 1 << 16
"""Version of a domain that the model should import and does not: above all that exist."""

Attributes = dict[str, object]
Contents = dict[tuple[int, ...], Content]


@entity
class NameScope:
    """Names visible in a graph, and the context that its nodes have from calls around it."""

    opsets: Mapping[str, int]  # operator versions by domain
    values: dict[str, Value] = field(default_factory=dict)  # values of this graph by name
    outer: NameScope | None = None  # of the graph around a subgraph; None for a function's body
    prefix: str = ""  # of names, from the function calls around it
    renamed: Mapping[str, str] = field(default_factory=dict)  # the caller's names by a function's
    arguments: Mapping[str, proto.Attribute] | None = None  # attributes of the function call
    call: Loc | None = None  # location of the call that all nodes of a body have
    depth: int = 0  # subgraphs and calls around it
    call_depth: int = 0  # calls around it
    declared: dict[str, Type] = field(default_factory=dict)  # types in the file by name

    def version(self, domain: str) -> int:
        """Return the operator version of a domain; the newest of one that is not imported."""
        return self.opsets.get(domain, NEWEST)

    def full(self, name: str) -> str:
        """Return the name in the IR of a value of this graph; results of functions are renamed."""
        return self.renamed.get(name) or self.prefix + name

    def find(self, name: str) -> Value | None:
        """Return the value called ``name`` here or further out."""
        scope: NameScope | None = self
        while scope is not None:
            if (value := scope.values.get(name)) is not None:
                return value
            scope = scope.outer
        return None


@mutable
class Lowering:
    """Lowering of one model, with the symbols that it met and the operators that it built."""

    model: proto.ProtoModel
    symbols: SymbolTable
    contents: Mapping[str, Known]
    functions: Functions
    cache: dict[tuple[object, ...], Built] = field(default_factory=dict)  # by attributes
    read: dict[tuple[object, ...], Built] = field(default_factory=dict)  # by identity of messages
    constants: Contents = field(default_factory=Contents)  # by identity of messages
    tensors: Tensors = field(default_factory=Tensors)
    placement: Placement = field(default_factory=Placement)
    inlined: int = 0  # nodes from functions so far

    def module(self) -> Module:
        """Return the whole model.

        Raises:
            ModelError: the graph is not one: an undefined name, a cycle, endless functions.
        """
        model = self.model
        opsets = {domain_key(d): v for d, v in model.opset_import}
        graph = self.graph(model.graph, NameScope(opsets))
        origin = ModelOrigin(
            model.origin.path,
            model.origin.sha256,
            f"{model.producer_name} {model.producer_version}".strip(),
            model.ir_version,
            tuple(sorted(opsets.items())),
            model.origin.files,
        )
        return Module(graph, self.symbols.declarations(), origin)

    def graph(self, source: proto.ProtoGraph, scope: NameScope) -> Graph:
        """Return one graph or subgraph; ``scope`` has its names, and those around it as outer."""
        if scope.depth > MAX_DEPTH:
            raise ModelError(f"subgraphs or functions nested deeper than {MAX_DEPTH}")
        tied = unlearned(source, self.model.origin.path).get
        weights = [self.weight(t, scope, tied(t.name)) for t in source.initializer]
        weights += [self.sparse_weight(s, scope) for s in source.sparse_initializer]
        inputs: list[Value] = []
        for info in source.input:
            if info.name in scope.values:
                continue
            type_ = self.symbols.type(info.type, info.name)
            known = self.contents.get(info.name) if scope.outer is None else None
            value = Value(info.name, type_, known)
            scope.values[info.name] = value
            inputs.append(value)
        self.declare(source, scope)
        nodes: list[Node] = []
        for node in topological(source.node, scope.find):
            self.node(node, scope, nodes, weights)
        outputs = tuple(self.output(info, scope) for info in source.output)
        return Graph(source.name or "main", tuple(inputs), outputs, tuple(nodes), tuple(weights))

    def declare(self, source: proto.ProtoGraph, scope: NameScope) -> None:
        """Record declared types, for values whose inferred types are less specific."""
        table = SymbolTable(self.symbols.given, self.symbols.ranges, dict(self.symbols.seen))
        declared, values = scope.declared, scope.values
        # the reader has one object for equal types; extents without a name are named by the value
        named: dict[int, Type] = {}
        for info in chain(source.value_info, source.output):
            given, name = info.type, info.name
            if given is None or name in declared or name in values:
                continue
            type_ = named.get(id(given))
            if type_ is None:
                type_ = table.type(given, name)
                if given.shape and all(map(_is_named, given.shape)):
                    named[id(given)] = type_
            declared[name] = type_

    def output(self, info: proto.ValueInfo, scope: NameScope) -> Value:
        """Return the value of a graph's output."""
        value = scope.find(info.name)
        if value is None:
            raise ModelError(
                f"output {info.name!r} is made by no node",
                hint="the graph is cut short or its output is misspelt",
            )
        return value

    def weight(self, tensor: proto.ProtoTensor, scope: NameScope, tied: str | None) -> Value:
        """Return a stored tensor as a value; ``tied`` is None or of `unlearned`."""
        stored = self.tensors.stored(tensor)
        location = (tensor.external or {}).get("location", "")
        weight = Weight(tensor.nbytes, stored.digest, location, tied is None, shares=tied or "")
        value = Value(scope.full(tensor.name), stored.type, stored.known, weight)
        scope.values[tensor.name] = value
        return value

    def sparse_weight(self, sparse: proto.SparseTensor, scope: NameScope) -> Value:
        """Return the value of a stored tensor in coordinate form."""
        content = sparse_content(sparse)
        assert content is not None  # None is returned only for None
        return self._store(sparse.values.name, content, scope)

    def _store(
        self, name: str, content: Content, scope: NameScope, *, is_parameter: bool = True
    ) -> Value:
        """Return a stored tensor with its content as a value of the graph."""
        tensor = content.tensor
        location = (tensor.external or {}).get("location", "")
        # hashing small contents costs more than parsing them: only parameters get a digest
        digest = tensor.content_digest or "" if is_parameter else ""
        weight = Weight(tensor.nbytes, digest, location, is_parameter)
        value = Value(scope.full(name), content.type, content.known, weight)
        scope.values[name] = value
        return value

    def node(
        self, source: proto.ProtoNode, scope: NameScope, nodes: list[Node], weights: list[Value]
    ) -> None:
        """Lower one node into ``nodes``; constants go to ``weights``, functions are inlined."""
        if scope.call_depth:
            self.inlined += 1
            if self.inlined > MAX_INLINED:
                raise ModelError(f"functions expand to more than {MAX_INLINED} nodes")
        if not source.op_type:
            raise ModelError("a node names no operator", where=f"node {label(source)!r}")
        domain = domain_key(source.domain)
        key = f"{domain}::{source.op_type}" if domain else source.op_type
        function = None
        if self.functions.table:
            function = self.functions.find(domain, source.op_type, source.overload)
        if function is not None:
            self.inline(source, function, scope, nodes, weights)
            return
        if key == "Constant":
            self.constant(source, scope, weights)
            return
        cls = OPERATORS.get(key) or operator_for(domain, source.op_type)
        values = scope.values
        inputs = [values.get(name) or self.input(name, source, scope) for name in source.input]
        if cls is None:
            body = expansion(source, domain, scope.version(domain), inputs)
            if body is not None:
                self.inline(source, body, scope, nodes, weights)
                return
            cls = Opaque
        built = self.operator(cls, key, scope.version(domain), source, scope)
        for index, content in built.extra_inputs:  # attributes that later became operands
            inputs += [None] * (index + 1 - len(inputs))
            if inputs[index] is None:
                name = f"{label(source)}.{cls.signature.names[index]}"
                is_learned = cls.kind in _TRAINED
                inputs[index] = self._store(name, content, scope, is_parameter=is_learned)
                weights.append(inputs[index])  # type: ignore[arg-type]
        problem = arity_problem(cls, inputs, len(source.output))
        if problem:
            raise ModelError(
                f"{source.op_type}: {problem}",
                where=f"node {label(source)!r}",
                hint="the model does not keep to the operator's definition; export it again",
            )
        regions = self.regions(cls, source, scope)
        outputs = tuple([self.result(name, source, scope) for name in source.output])
        loc = scope.call or self.placement.of(source, scope.prefix, inputs)
        nodes.append(Node(built.op, tuple(inputs), outputs, regions, loc))

    def operator(
        self, cls: type[Op], key: str, version: int, source: proto.ProtoNode, scope: NameScope
    ) -> Built:
        """Return the operator instance, made once for equal attributes."""
        n_outputs = len(source.output)
        # the reader has one object for equal attributes; in a function they may refer to the call's
        as_read = (cls, key, version, n_outputs, *map(id, source.attribute))
        if scope.arguments is None and (result := self.read.get(as_read)) is not None:
            return result
        attributes = self.attributes(source, scope)
        attributes = self.symbols.opaque(key, attributes) if cls is Opaque else attributes
        identity = (cls, key, version, n_outputs, *attributes.items())
        if (built := self.cache.get(identity)) is None:
            try:
                built = build(cls, attributes, version, n_outputs)
            except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
                raise ModelError(
                    f"attributes of {source.op_type} do not fit it: {error}",
                    where=f"node {label(source)!r}",
                    hint="re-export the model, or fix the attribute",
                ) from error
            self.cache[identity] = built
        if scope.arguments is None:
            self.read[as_read] = built
        return built

    def attributes(self, source: proto.ProtoNode, scope: NameScope) -> Attributes:
        """Return attributes as values; references to attributes of the call are resolved."""
        result: Attributes = {}
        for a in source.attribute:
            actual: proto.Attribute | None = a
            if a.ref_attr_name:
                actual = (scope.arguments or {}).get(a.ref_attr_name)
            if actual is not None and (value := attribute_value(actual)) is not None:
                result[a.name] = value
        return result

    def input(self, name: str, source: proto.ProtoNode, scope: NameScope) -> Value | None:
        """Return the value that a node reads; None for an omitted optional input."""
        if not name:
            return None
        value = scope.find(name)
        if value is None:
            raise ModelError(
                f"input {name!r} of {source.op_type} is made by no node",
                where=f"node {label(source)!r}",
                hint="the graph is cut short, or a name is misspelt",
            )
        return value

    def result(self, name: str, source: proto.ProtoNode, scope: NameScope) -> Value | None:
        """Return a new value for an output; None if it is unused."""
        if not name:
            return None
        if name in scope.values:
            raise ModelError(
                f"{name!r} is made twice", where=f"node {label(source)!r} ({source.op_type})"
            )
        full = scope.full(name)
        value = Value(full, scope.declared.get(name, UNKNOWN))
        scope.values[name] = value
        return value

    def regions(
        self, cls: type[Op], source: proto.ProtoNode, scope: NameScope
    ) -> tuple[Graph, ...]:
        """Return the subgraphs of a node.

        Raises:
            ModelError: the operator needs one that is missing, or cannot have one.
        """
        graphs: tuple[Graph, ...] = ()
        # a list is faster than `any` here, and most nodes have no subgraph
        if [a for a in source.attribute if a.g is not None or a.graphs]:
            graphs = tuple([self.region(g, scope) for g in ordered_subgraphs(source)])
        is_lacking = len(graphs) < cls.least_regions
        if is_lacking or (graphs and cls.kind in _FLAT):
            what = "lacks a subgraph" if is_lacking else "cannot have a subgraph"
            raise ModelError(f"{source.op_type} {what}", where=f"node {label(source)!r}")
        return graphs

    def region(self, source: proto.ProtoGraph, scope: NameScope) -> Graph:
        """Return a subgraph of a node; it sees the names around it."""
        inner = NameScope(
            scope.opsets,
            outer=scope,
            prefix=scope.prefix,
            arguments=scope.arguments,
            call=scope.call,
            depth=scope.depth + 1,
            call_depth=scope.call_depth,
        )
        return self.graph(source, inner)

    def constant(self, source: proto.ProtoNode, scope: NameScope, weights: list[Value]) -> None:
        """Store the tensor of a Constant node, which computes nothing."""
        as_read = tuple(map(id, source.attribute))
        content = self.constants.get(as_read) if scope.arguments is None else None
        if content is None:
            value = next(iter(self.attributes(source, scope).values()), None)
            content = value if isinstance(value, Content) else constant_content(value)
            if scope.arguments is None:
                self.constants[as_read] = content
        if not source.output or not source.output[0]:
            return
        if source.output[0] in scope.values:
            raise ModelError(f"{source.output[0]!r} is made twice", where=f"node {label(source)!r}")
        weights.append(self._store(source.output[0], content, scope, is_parameter=False))

    def inline(
        self,
        source: proto.ProtoNode,
        function: proto.Function,
        scope: NameScope,
        nodes: list[Node],
        weights: list[Value],
    ) -> None:
        """Put a function's nodes in place of its call."""
        if scope.depth > MAX_DEPTH:
            raise ModelError(f"functions call each other deeper than {MAX_DEPTH}: {source.op_type}")
        inner = NameScope(
            {domain_key(d): v for d, v in function.opset_import} or scope.opsets,
            prefix=f"{scope.prefix}{label(source)}/",
            renamed={
                formal: scope.full(actual)
                for formal, actual in zip(function.output, source.output, strict=False)
                if actual
            },
            declared={
                formal: scope.declared[actual]
                for formal, actual in zip(function.output, source.output, strict=False)
                if actual in scope.declared
            },
            arguments=self.functions.arguments(function, source, scope.arguments),
            call=scope.call or self.placement.of_call(source, function, scope.prefix),
            depth=scope.depth + 1,
            call_depth=scope.call_depth + 1,
        )
        for formal, actual in zip(function.input, source.input, strict=False):
            value = self.input(actual, source, scope)
            if value is not None:
                inner.values[formal] = value
        missing = set(function.input) - inner.values.keys()  # operands that the call omits
        for node in topological(function.node, inner.find, missing):
            trimmed = without(node, missing)
            self.node(trimmed, inner, nodes, weights)
        for formal, actual in zip(function.output, source.output, strict=False):
            value = inner.values.get(formal)
            if actual and value is None:
                raise ModelError(f"function {function.name} does not make its output {formal!r}")
            if actual and value is not None:
                scope.values[actual] = value


_TRAINED = frozenset({Kind.CLASSICAL, Kind.STRING})
"""Kinds whose attributes are parameters of the model where they became operands."""
_FLAT = frozenset(Kind) - {Kind.CONTROL, Kind.OPAQUE, Kind.ATTENTION, Kind.OPTIMIZER}
"""Kinds of operators without subgraphs; attention may be given its scores as a subgraph."""


def _is_named(extent: int | str | None) -> bool:
    return extent > 0 if isinstance(extent, int) else bool(extent)
