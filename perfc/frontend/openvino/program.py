"""OpenVINO models in messages of ONNX, which the lowering of ONNX models takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache, partial
from graphlib import TopologicalSorter

from perfc.common.declared import modules
from perfc.errors import ModelError

from ..collector import paused_collector
from ..pt2.builder import GraphBuilder, Meta, axis_symbol
from ..pt2.program import OPSET
from ..reading.proto import FileOrigin, ProtoModel, ValueInfo
from ..source import one_line
from . import call
from .call import LOWERINGS, LayerCall, LayerScope, Lowering
from .control import FLOWS, lower_flow
from .document import ELEMENT_TYPES, Elements, LayerGraph, NetLayer, network_of, read_document
from .stored import stored_of

DEEPEST = 16
"""Nesting of graphs."""
FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, StopIteration)
"""Errors of layers that do not follow the schema."""


def read_openvino(model: str | bytes) -> ProtoModel:
    """Return a model in messages of ONNX, its weights without elements.

    Args:
        model: path of a document, or the bytes of one.

    Raises:
        ModelError: the document is damaged, or not of the schema.
    """
    where = "model" if isinstance(model, bytes) else one_line(model)
    root, data = read_document(model, where)
    path = "" if isinstance(model, bytes) else model
    elements = Elements(path[:-4] + ".bin" if path.lower().endswith(".xml") else "")
    builder = GraphBuilder()
    builder.graph.name = root.attrib.get("name") or "main"
    try:
        with paused_collector():
            scope = LayerScope(builder, network_of(root), elements)
            declare_inputs(scope)
            lower_layers(scope)
            declare_outputs(scope)
    except ModelError as error:
        error.where = error.where or where
        raise
    except RecursionError:
        raise ModelError("its graphs are nested too deep", where=where) from None
    except FAULTS as error:
        what = f"does not keep to the schema: {type(error).__name__} {error}"[:200]
        hint = "save it with openvino.save_model of 2022 or newer"
        raise ModelError(what, hint=hint, where=where) from None
    made = ProtoModel(10, [("", OPSET), ("com.microsoft", 1)], "OpenVINO", graph=builder.graph)
    made.origin = FileOrigin(path, len(data), hashlib.sha256(data).hexdigest())
    return made


def declare_inputs(scope: LayerScope) -> None:
    """Add the parameters of the model, and its variables, which keep their values between runs."""
    layers = scope.network.layers.values()
    given = [layer for layer in layers if layer.kind in ("Parameter", "ReadValue")]
    names = [_name(scope.builder, layer, 0) for layer in given]
    has_past = any("past" in name for name in names)
    for layer, name in zip(given, names, strict=True):
        output = layer.outputs[0]
        sizes = tuple(axis_symbol(name, a, output.meta, has_past=has_past) if s is None else s
                      for a, s in enumerate(output.meta.sizes))  # fmt: skip
        dtype = output.meta.dtype or ELEMENT_TYPES.get(layer.data.get("element_type", ""), 0)
        scope.values[layer.index, output.port] = name
        type_ = scope.builder.type(Meta(int(dtype), sizes))
        scope.builder.graph.input.append(ValueInfo(name, type_))


def declare_outputs(scope: LayerScope) -> None:
    """Add the results of the model, and the next values of its variables."""
    for layer in scope.network.layers.values():
        if layer.kind in ("Result", "Assign"):
            made = LayerCall(scope, layer, layer.name, layer.name)
            scope.builder.graph.output.append(ValueInfo(made.value(0)))


def lower_layers(scope: LayerScope) -> None:
    """Lower the layers of a graph, each after those it reads.

    Raises:
        ModelError: graphs nested too deep.
        ValueError: a cycle.
    """
    if scope.depth > DEEPEST:
        raise ModelError(f"graphs nested deeper than {DEEPEST}")
    network = scope.network
    for index in _ordered(network):
        layer = network.layers[index]
        if layer.kind not in ("Parameter", "Const", "Result", "ReadValue", "Assign"):
            lower_layer(scope, layer)


def lower_layer(scope: LayerScope, layer: NetLayer) -> None:
    """Lower one layer; one without a lowering becomes an unknown operator."""
    ports = [(layer.index, o.port) for o in layer.outputs]
    if all(port in scope.values for port in ports):
        return
    builder = scope.builder
    name = layer.name or layer.kind
    made = LayerCall(scope, layer, name, name)
    if _is_folded(made):
        return
    graph = builder.graph
    start, stored, known = len(graph.node), len(graph.initializer), dict(builder.constants)
    is_flow = layer.kind in FLOWS
    lowering = partial(lower_flow, lower=lower_layers) if is_flow else lowerings().get(layer.kind)
    results: Sequence[str] | None = None
    if lowering is not None:
        values = dict(scope.values)
        try:
            made_values = lowering(made)
            results = [made_values] if isinstance(made_values, str) else list(made_values)
            if len(results) < len(ports):
                raise ValueError("fewer results than the layer has")
        except FAULTS:
            builder.graph, builder.constants, scope.values = graph, known, values
            del graph.node[start:], graph.initializer[stored:]
            made.made, made.followers, results = 0, [], None
    if results is None:
        operands = [made.value(at) for at in range(len(layer.inputs))]
        results = made.several(layer.kind, operands, len(ports), domain="ai.openvino")
    names = [_name(builder, layer, at) for at in range(len(ports))]
    metas = [o.meta for o in layer.outputs]
    settled = builder.settle(start, results, names, metas)
    scope.values.update(zip(ports, settled, strict=False))
    scope.values.update(dict.fromkeys(made.followers, settled[0] if settled else ""))


def _is_folded(made: LayerCall) -> bool:
    """Return True for a layer that only converts a stored tensor: its readers read that."""
    layer, scope = made.layer, made.scope
    if layer.kind not in ("Convert", "Subtract", "Multiply", "Reshape", "FakeQuantize"):
        return False
    port = layer.index, layer.outputs[0].port
    if port not in scope.stored:
        scope.stored[port] = stored_of(scope.network, port, scope.elements)
    return scope.stored[port] is not None


def _ordered(network: LayerGraph) -> list[int]:
    """Return the layers, each after those it reads; the order of the document where it is one."""
    before: dict[int, list[int]] = {index: [] for index in network.layers}
    for (target, _), (source, _) in network.edges.items():
        before[target].append(source)
    seen: set[int] = set()
    for index, sources in before.items():
        seen.add(index)
        if not seen.issuperset(sources):
            return list(TopologicalSorter(before).static_order())
    return list(before)


def _name(builder: GraphBuilder, layer: NetLayer, at: int) -> str:
    """Return an unused name for a result of a layer."""
    output = layer.outputs[at]
    name = output.name or (f"{layer.name}.{output.port}" if at else layer.name)
    if not name or name in builder.constants:
        name = builder.fresh(name or layer.kind)
    builder.constants[name] = name
    return name


@cache
def lowerings() -> Mapping[str, Lowering]:
    """Return every lowering by type; importing the modules of this folder records them."""
    list(modules(call.__package__ or ""))
    return LOWERINGS
