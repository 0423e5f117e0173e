"""TensorFlow Lite models in messages of ONNX, which the lowering of ONNX models reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Any

from perfc.errors import ModelError
from perfc.ir import mutable

from ..lowering.builder import GraphBuilder, Meta
from ..lowering.elements import DataType, is_small
from ..lowering.emitter import reading
from ..reading.proto import FileOrigin, ProtoModel, ValueInfo
from ..source import one_line
from .call import LOWERINGS, FlatCall, FlatTensor, Lowering, TensorScope
from .flatbuffer import FlatFile, FlatTable
from .schema import CUSTOM, ELEMENT_TYPES, LATER, OPERATORS, PLACEHOLDER

DEEPEST = 16
"""Maximum nesting of graphs; a graph of a damaged file may call itself."""
MOST_NODES = 200_000
"""Maximum operators; those of a graph count at each call, which could double at each nesting."""


def read_flat(model: str | bytes) -> ProtoModel:
    """Return a model in messages of ONNX, its weights without elements.

    Args:
        model: path of a file, or the bytes of one.

    Raises:
        ModelError: the file is damaged, or not of the schema.
    """
    where = "model" if isinstance(model, bytes) else one_line(model)
    file = FlatFile(model, where)
    try:
        hint = "convert it again with a released TensorFlow or LiteRT"
        with reading(where, "does not keep to the schema", hint):
            result = FlatReader(file, file.root()).model()
    finally:
        file.close()
    path = "" if isinstance(model, bytes) else model
    result.origin = FileOrigin(path, file.nbytes, file.digest())
    return result


@mutable
class FlatReader:
    """Translation of one model.

    Args:
        file: bytes of the file.
        root: outermost table of the file.
        graphs: graphs by number; the first one is the model.
        buffers: tables that hold the elements of stored tensors, or their size.
        names: domain and name of the operators that the model uses, by number.
        nodes: number of operators so far.
        read: tensors of graphs by position of the graph.
    """

    file: FlatFile
    root: FlatTable
    graphs: Sequence[FlatTable] = ()
    buffers: Sequence[FlatTable] = ()
    names: Sequence[tuple[str, str]] = ()
    nodes: int = 0
    read: dict[int, list[FlatTensor]] = field(default_factory=dict)

    def model(self) -> ProtoModel:
        """Return the model: its first graph, into which the graphs of control flow are lowered."""
        root = self.root
        # numbers of fields are their places in schema.fbs: of a model 1 operators, 2 graphs, 3
        # description, 4 buffers; of a graph 0 tensors, 1 inputs, 2 outputs, 3 operators, 4 name
        self.graphs, self.buffers = root.tables(2), root.tables(4)
        self.names = [_operator(code) for code in root.tables(1)]
        if not self.graphs:
            raise ModelError("no graph in it", hint="convert it again")
        builder = GraphBuilder()
        graph = self.graphs[0]
        builder.graph.name = graph.text(4) or "main"
        scope = TensorScope(builder, self.tensors(graph))
        for index in graph.vector(1, "i"):
            self.declare_input(scope, index)
        self.lower(scope, graph)
        for index in graph.vector(2, "i"):
            meta = scope.tensor(index).meta
            if not scope.has(index):
                what = f"no operator makes result {scope.tensor(index).name!r} of the model"
                raise ModelError(what, hint="convert it again")
            value = self.plain(scope, index)
            known = ValueInfo(value, builder.type(meta)) if meta.sizes else ValueInfo(value)
            builder.graph.output.append(known)
        return builder.model(root.text(3) or "tensorflow lite")

    def declare_input(self, scope: TensorScope, index: int) -> None:
        """Add an input of the model."""
        tensor, builder = scope.tensor(index), scope.builder
        name = tensor.name or f"input_{index}"
        builder.constants[name] = scope.plain[index] = name
        builder.input(name, tensor.meta)

    def plain(self, scope: TensorScope, index: int) -> str:
        """Return a result of a graph in the order of axes of the file."""
        # a call that emits no operator, only the transposition of a value that is channels-first
        end = FlatCall(scope, "output", "output", "RESHAPE", None, (index,), (index,))
        return end.value(0, real=False)

    def tensors(self, graph: FlatTable) -> list[FlatTensor]:
        """Return the tensors of a graph; the same objects at every call of the graph."""
        if graph.position not in self.read:
            self.read[graph.position] = [self.tensor(table) for table in graph.tables(0)]
        return self.read[graph.position]

    def tensor(self, table: FlatTable) -> FlatTensor:
        """Return a tensor, with its elements if they are few."""
        # of a tensor 0 shape, 1 type, 2 buffer, 3 name, 4 quantization, 5 variable, 7 shape with -1
        # for unknown extents; of a quantization 2 scales, 3 zero points, 6 axis
        shape = table.vector(7, "i") or table.vector(0, "i")
        code = table.integer(1, "B")
        dtype = ELEMENT_TYPES[code] if code < len(ELEMENT_TYPES) else DataType.UNDEFINED
        meta = Meta(int(dtype), tuple(s if s >= 0 else None for s in shape))
        index = table.integer(2, "I")
        # buffer 0 is that of all tensors without elements
        buffer = self.buffers[index] if 0 < index < len(self.buffers) else None
        data = buffer.target(0) if buffer is not None else 0
        nbytes = self.file.number(data, "I") if data else 0
        # field 2 is the size of elements behind the tables, in files above 2 GiB
        is_stored = nbytes > 0 or (buffer is not None and buffer.integer(2, "Q") > 0)
        quantization = table.table(4)
        scales = _reals(quantization, 2) if quantization is not None else ()
        # shapes and axes are read, which are never quantized; a scalar may be either
        is_read = is_small(dtype, meta.count, nbytes) and not (scales and shape)
        return FlatTensor(
            table.text(3),
            meta,
            data=self.file.read(data + 4, nbytes) if is_read else None,
            is_stored=is_stored,
            is_variable=table.integer(5, "?") > 0,
            scales=scales,
            zeros=quantization.vector(3, "q") if quantization is not None else (),
            axis=quantization.integer(6, "i") if quantization is not None else 0,
        )

    def lower(self, scope: TensorScope, graph: FlatTable) -> None:
        """Lower the operators of a graph in their order.

        Raises:
            ModelError: graphs nested too deep, or too many operators.
        """
        if scope.depth > DEEPEST:
            raise ModelError(f"graphs nested deeper than {DEEPEST}")
        for table in graph.tables(3):
            self.nodes += 1
            if self.nodes > MOST_NODES:
                raise ModelError(f"more than {MOST_NODES} operators", hint="convert a part of it")
            self.lower_operator(scope, table)

    def lower_operator(self, scope: TensorScope, table: FlatTable) -> None:
        """Lower one operator; one without a lowering becomes an unknown operator."""
        # of an operator 0 number of its name, 1 operands, 2 results, 4 options
        number, count = table.integer(0, "I"), len(scope.tensors)
        if number >= len(self.names):
            raise ModelError(f"operator {number} of {len(self.names)}", hint="convert it again")
        domain, name = self.names[number]
        inputs, outputs = table.vector(1, "i"), table.vector(2, "i")
        if not outputs:
            return
        wrong = [i for i in inputs if not -1 <= i < count]
        wrong += [i for i in outputs if not 0 <= i < count]
        if wrong:
            what = f"{name}: tensor {wrong[0]} of {count}"
            raise ModelError(what, hint="convert it again")
        # newer operators have their options in a second field; a composite is one with a lowering
        options = table.table(12) if name == "STABLEHLO_COMPOSITE" else table.table(4)
        # the result of a fused operator lists the names of its parts with semicolons
        path = scope.tensor(outputs[0]).name.partition(";")[0] or name.lower()
        call = FlatCall(scope, path, path, name, options, inputs, outputs)
        self.declare_variables(scope, inputs)
        lowering: Lowering | None = None
        if domain == "tflite":
            lowering = partial(FLOWS[name], self) if name in FLOWS else LOWERINGS.find(name)
        if lowering is not None:
            with call.attempt(scope.plain, scope.first):
                lowering(call)
                if not all(scope.has(i) for i in outputs):
                    raise LookupError("more results than the operator has")
                return
        # scratch memory is an operand that nothing makes: it counts as omitted
        values = [
            call.value(at, real=False) if i < 0 or scope.has(i) else ""
            for at, i in enumerate(inputs)
        ]
        results = call.several(name, values, len(outputs), domain=domain)
        for at, value in enumerate(results):
            call.named(value, at)

    def declare_variables(self, scope: TensorScope, inputs: Sequence[int]) -> None:
        """Add the operands that keep their elements from run to run as stored tensors."""
        for index in inputs:
            if index < 0 or index in scope.plain or index in scope.first:
                continue
            tensor = scope.tensor(index)
            # states of recurrent layers are variables; a constant of extent 0 has nothing to store
            if tensor.is_variable or (not tensor.is_stored and 0 in tensor.meta.sizes):
                name = scope.plain[index] = scope.builder.fresh(tensor.name or "variable")
                scope.builder.stored(name, tensor.meta, is_parameter=False)

    def called(self, call: FlatCall, index: int, inputs: Sequence[str]) -> list[str]:
        """Put a graph in place of its call and return its results.

        Raises:
            LookupError: there is no such graph.
        """
        scope = call.scope
        # else it would count from the last graph
        if index < 0:
            raise IndexError(f"graph {index}")
        graph = self.graphs[index]
        inner = TensorScope(scope.builder, self.tensors(graph), depth=scope.depth + 1)
        inner.plain.update(zip(graph.vector(1, "i"), inputs, strict=False))
        self.lower(inner, graph)
        return [self.plain(inner, i) for i in graph.vector(2, "i")]

    def region(
        self,
        call: FlatCall,
        index: int,
        inputs: Sequence[str],
        names: Sequence[str],
        condition: int | None = None,
    ) -> None:
        """Lower a graph into the graph of messages that the builder is at.

        Args:
            call: operator with the graph.
            index: number of the graph.
            inputs: values that the graph reads.
            names: names of the results.
            condition: number of the graph that computes from the results whether a loop goes on,
                which becomes the first result; None for a branch.
        """
        results = self.called(call, index, inputs)
        if condition is not None:
            results = [*self.called(call, condition, results), *results]
        graph = call.builder.graph
        graph.name = f"{call.name}_{index}"
        for name, result in zip(names, results, strict=True):
            # a graph of ONNX must make its results, but a branch may pass an outer value on
            call.builder.node("Identity", (result,), (name,), name, {})
            graph.output.append(ValueInfo(name))


def _if(reader: FlatReader, call: FlatCall) -> None:
    """Lower a branching: both graphs become graphs of ONNX's If."""
    inputs = [call.value(at, real=False) for at in range(1, len(call.inputs))]
    branches: dict[str, Any] = {}
    for branch in ("then", "else"):
        outer = call.builder.enter()
        names = [call.builder.fresh(call.name) for _ in call.outputs]
        reader.region(call, call.option(branch), inputs, names)
        branches[f"{branch}_branch"] = call.builder.leave(outer)
    results = call.several("If", (call.value(0),), len(call.outputs), **branches)
    for at, value in enumerate(results):
        call.named(value, at)


def _while(reader: FlatReader, call: FlatCall) -> None:
    """Lower a loop: ONNX has the condition before the loop, and again at the end of its body."""
    inputs = [call.value(at, real=False) for at in range(len(call.inputs))]
    (condition,) = reader.called(call, call.option("cond"), inputs)
    outer = call.builder.enter()
    metas = [call.tensor(at).meta for at in range(len(inputs))]
    # the first two are the number of the iteration and the condition
    states = call.builder.loop_inputs(call.name, metas)[2:]
    names = [call.builder.fresh(call.name) for _ in (condition, *states)]
    reader.region(call, call.option("body"), states, names, call.option("cond"))
    graph = call.builder.leave(outer)
    results = call.several("Loop", ("", condition, *inputs), len(inputs), body=graph)
    for at, value in enumerate(results):
        call.named(value, at)


def _composite(reader: FlatReader, call: FlatCall) -> None:
    """Lower an operator by the graph that defines it."""
    inputs = [call.value(at, real=False) for at in range(len(call.inputs))]
    for at, value in enumerate(reader.called(call, call.option("body"), inputs)):
        call.named(value, at)


FLOWS = {"IF": _if, "WHILE": _while, "STABLEHLO_COMPOSITE": _composite}
"""Operators with graphs."""


def _operator(code: FlatTable) -> tuple[str, str]:
    """Return the domain and the name of an operator."""
    # old files have the code in a byte, new ones in a number that may be absent where it is 0
    old = code.integer(0, "b")
    number = code.integer(3, "i") if old == PLACEHOLDER else max(old, code.integer(3, "i"))
    if number == CUSTOM:
        return "tflite.custom", code.text(1) or "custom"
    if number < len(OPERATORS):
        return "tflite", OPERATORS[number]
    return "tflite", LATER.get(number, f"OPERATOR_{number}")


def _reals(table: FlatTable, index: int) -> tuple[float, ...]:
    """Return a vector of scales; empty unless all numbers are positive and finite."""
    numbers: tuple[float, ...] = table.vector(index, "f")
    return numbers if all(0 < n < float("inf") for n in numbers) else ()
