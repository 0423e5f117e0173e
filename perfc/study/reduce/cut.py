"""Extract sub-models with onnx-graphsurgeon; types of their inputs come from the analysis.

`shrink.py` chooses nodes; `Cutter.submodel` returns them as a model that runs on its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError, message_line
from perfc.frontend.reading.onnx_file import dim_param
from perfc.ir import Dim, DType, Graph, Known, Node, SequenceType, Shape, TensorType, Value, walk

if TYPE_CHECKING:
    import onnx

SMALL_BYTES = 4096
"""Constants up to this size stay in the sub-model, as shapes and scales do; larger ones, such as
weights, become inputs of the sub-model."""


@dataclass(slots=True)
class Cutter:
    """Extractor of sub-models from one model.

    Args:
        model: the whole model; external data may be missing.
        values: inferred types and contents by name.
    """

    model: onnx.ModelProto
    values: Mapping[str, Value] = field(default_factory=dict)
    nodes: list[Any] = field(init=False)
    makers: dict[str, Any] = field(init=False)
    graph: Any = field(init=False)

    def __post_init__(self) -> None:
        """Import the model into graphsurgeon, with nodes in topological order."""
        import onnx_graphsurgeon as gs
        from onnx_graphsurgeon.logger.logger import G_LOGGER

        G_LOGGER.severity = G_LOGGER.ERROR
        try:
            self.graph = gs.import_onnx(self.model)
            self.graph.toposort(recurse_subgraphs=False, recurse_functions=False)
        except Exception as error:  # graphsurgeon raises whatever its reading stumbles upon
            raise ModelError(f"cannot be cut: {message_line(error)}") from error
        self.nodes = list(self.graph.nodes)
        self.makers = {t.name: n for n in self.nodes for t in n.outputs if t.name}

    def owner(self, node: Node) -> Any:
        """Return the node of the main graph that became, contains or calls ``node``.

        Raises:
            ModelError: if there is none.
        """
        for v in node.results:
            if v.name in self.makers:
                return self.makers[v.name]
        # not a result of the main graph: in a subgraph, or in a function that a node calls
        wanted = {v.name for v in node.results}
        for candidate in self.nodes:
            label = candidate.name or (candidate.outputs[0].name if candidate.outputs else "")
            if label and f"{node.loc.stored_name}/".startswith(label + "/"):
                return candidate
            if any(wanted & _made_in(sub) for sub in candidate.subgraphs(recursive=True)):
                return candidate
        raise ModelError(
            f"node {node.name!r} is not in the file", hint="it was created by the importer"
        )

    def closed(self, chosen: Iterable[Any]) -> list[Any]:
        """Add producers of values that cannot be inputs, in topological order.

        Those are sequences and optionals, and symbolic contents that determine shapes.
        """
        included = {id(n) for n in chosen}
        pending = list(chosen)
        while pending:
            for name in _reads(pending.pop()):
                maker = self.makers.get(name)
                if maker is not None and id(maker) not in included and self._needs_maker(name):
                    included.add(id(maker))
                    pending.append(maker)
        return [n for n in self.nodes if id(n) in included]

    def _needs_maker(self, name: str) -> bool:
        """Return True if a value cannot be an input: its producer has to stay."""
        value = self.values.get(name)
        if value is None:
            return False
        if not isinstance(value.type, TensorType):
            return True
        # known numbers become a constant and unknown contents an input, but contents with symbols
        # can only be computed
        return value.known is not None and not is_numeric(value.known)

    def ancestors(self, node: Any, depth: int) -> list[Any]:
        """Return ``node`` and its producers up to ``depth`` levels."""
        included = {id(node): node}
        level = [node]
        for _ in range(depth):
            level = [
                maker
                for n in level
                for name in _reads(n)
                if (maker := self.makers.get(name)) is not None and id(maker) not in included
            ]
            included.update((id(n), n) for n in level)
            if not level:
                break
        return list(included.values())

    def submodel(self, chosen: Sequence[Any]) -> onnx.ModelProto:
        """Return a model of ``chosen`` only, which are in topological order."""
        import onnx_graphsurgeon as gs

        results = {t.name for n in chosen for t in n.outputs if t.name}
        read_names = dict.fromkeys(name for n in chosen for name in _reads(n))
        # new tensors: those of the whole model are linked to nodes that are left out
        fresh: dict[str, Any] = {}
        inputs: list[Any] = []
        for name in read_names:
            if name not in results:
                fresh[name] = self._outer(name)
                if isinstance(fresh[name], gs.Variable):
                    inputs.append(fresh[name])
        for name in results:
            fresh[name] = self._variable(name)
        empty = gs.Variable.empty()
        nodes = [
            gs.Node(
                n.op,
                n.name,
                dict(n.attrs),
                [fresh.get(t.name, empty) for t in n.inputs],
                [fresh.get(t.name, empty) for t in n.outputs],
                n.domain,
            )
            for n in chosen
        ]
        model_outputs = {t.name for t in self.graph.outputs}
        ends = [fresh[t.name] for n in chosen for t in n.outputs if t.name]
        # values that no chosen node reads, and all outputs of the model, which may be read as well
        outputs = [t for t in ends if t.name not in read_names or t.name in model_outputs]
        graph = gs.Graph(
            nodes,
            inputs,
            outputs,
            name=self.graph.name or "reduced",
            opset=self.graph.opset,
            import_domains=self.graph.import_domains,
            functions=self.graph.functions,
        )
        return self._exported(graph, [t for t in fresh.values() if isinstance(t, gs.Constant)])

    def _exported(self, graph: Any, constants: list[Any]) -> onnx.ModelProto:
        """Return a graph as a model of the same format version."""
        import onnx_graphsurgeon as gs
        from onnx_graphsurgeon.exporters.onnx_exporter import OnnxExporter

        try:
            model: onnx.ModelProto = gs.export_onnx(graph, do_type_check=False)
            # the exporter misses constants that only subgraphs read
            stored = {t.name for t in model.graph.initializer}
            for constant in constants:
                if constant.name not in stored:
                    model.graph.initializer.append(OnnxExporter.export_tensor_proto(constant))
        except Exception as error:  # graphsurgeon raises errors of any type, as on reading
            raise ModelError(f"cannot be cut: {message_line(error)}") from error
        model.ir_version = self.model.ir_version
        model.producer_name = self.model.producer_name
        model.producer_version = self.model.producer_version
        return model

    def _outer(self, name: str) -> Any:
        """Return an input of the sub-model, or a constant if it is small or has known content."""
        import onnx_graphsurgeon as gs

        tensor = self.graph.tensors().get(name)
        if isinstance(tensor, gs.Constant):
            lazy = getattr(tensor, "_values", None)  # graphsurgeon reads contents on first use
            stored = getattr(lazy, "tensor", None)
            # 1 is TensorProto.EXTERNAL: contents in a file that may be missing must not be read
            is_external = stored is not None and getattr(stored, "data_location", 0) == 1
            if not is_external and lazy is not None and lazy.nbytes <= SMALL_BYTES:
                return gs.Constant(name, lazy, data_location=tensor.data_location)
        value = self.values.get(name)
        if value is not None and value.known is not None and is_numeric(value.known):
            array = _array(value)
            if array is not None:
                return gs.Constant(name, array)
        return self._variable(name)

    def _variable(self, name: str) -> Any:
        """Return a variable with the inferred type, or else with that of the file."""
        import onnx_graphsurgeon as gs

        variable = gs.Variable(name)
        value = self.values.get(name)
        declared = self.graph.tensors().get(name)
        match value.type if value is not None else None:
            case TensorType(dtype, shape) if dtype.onnx > 0:
                _declare(variable, dtype, shape, "tensor_type")
            case SequenceType(TensorType(dtype, shape)) if dtype.onnx > 0:
                _declare(variable, dtype, shape, "sequence_type")
            case _ if declared is not None:
                variable.dtype, variable.shape = declared.dtype, declared.shape
                variable.type = getattr(declared, "type", "tensor_type")
        return variable


def _declare(variable: Any, dtype: DType, shape: Shape | None, kind: str) -> None:
    """Set the type of a variable."""
    variable.dtype = _gs_dtype(dtype.onnx)
    variable.shape = None if shape is None else [_dim(d) for d in shape]
    variable.type = kind


def _reads(node: Any) -> Iterator[str]:
    """Yield the values that a node and its subgraphs read from outside."""
    yield from (t.name for t in node.inputs if t.name)
    for sub in node.subgraphs():
        yield from sub._foreign_tensors()


def _made_in(graph: Any) -> set[str]:
    """Return the values that nodes of a graph compute."""
    return {t.name for n in graph.nodes for t in n.outputs}


def _dim(d: Dim) -> int | str:
    return d if isinstance(d, int) else dim_param(d)


def _gs_dtype(onnx_dtype: int) -> Any:
    """Return the type as graphsurgeon has it: of numpy, or a number where numpy lacks it."""
    from onnx_graphsurgeon.importers.onnx_importer import get_numpy_type

    return get_numpy_type(onnx_dtype) or onnx_dtype


def is_numeric(known: Known) -> bool:
    """Return True if every element is a number: no unknown, symbol or text."""
    return all(isinstance(i, int | float) for i in known.items)


def _array(value: Value) -> Any:
    """Return the contents of a value; None if numpy lacks its type."""
    import numpy as np

    if not isinstance(value.type, TensorType) or value.known is None:
        return None
    dtype = _gs_dtype(value.type.dtype.onnx)
    if isinstance(dtype, int):
        return None
    return np.array(value.known.items, dtype=dtype).reshape(value.known.shape)


def values_by_name(graph: Graph) -> dict[str, Value]:
    """Return every value of a graph and its regions by name."""
    values = [*graph.inputs, *graph.weights]
    for node in walk(graph):
        values += node.results
        for region in node.regions:
            values += [*region.inputs, *region.weights]
    return {v.name: v for v in values}
