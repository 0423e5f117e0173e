"""OpenVINO models in messages of ONNX, which the lowering of ONNX models reads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from graphlib import TopologicalSorter

from perfc.errors import ModelError

from ..lowering.builder import GraphBuilder, Meta
from ..lowering.elements import element_type
from ..lowering.emitter import reading
from ..reading.proto import FileOrigin, ProtoModel, ValueInfo
from ..source import one_line
from .call import LOWERINGS, LayerCall, LayerScope
from .control import FLOWS, lower_flow
from .document import Elements, LayerGraph, NetLayer, network_of, read_document
from .stored import CONVERSIONS

DEEPEST = 16
"""Maximum nesting of graphs, which are lowered by recursion."""


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
    # weights are in the file of the same name with the suffix .bin
    elements = Elements(path[:-4] + ".bin" if path.lower().endswith(".xml") else "")
    builder = GraphBuilder()
    builder.graph.name = root.attrib.get("name") or "main"
    with reading(
        where, "does not keep to the schema", "save it with openvino.save_model of 2022 or newer"
    ):
        scope = LayerScope(builder, network_of(root), elements)
        if not scope.network.layers:
            raise ModelError("no layers in it", hint="save it again")
        declare_inputs(scope)
        lower_layers(scope)
        declare_outputs(scope)
    result = builder.model("OpenVINO")
    result.origin = FileOrigin(path, len(data), hashlib.sha256(data).hexdigest())
    return result


def declare_inputs(scope: LayerScope) -> None:
    """Add the parameters of the model, and its variables, which keep their values between runs."""
    layers = scope.network.layers.values()
    sources = [layer for layer in layers if layer.kind in ("Parameter", "ReadValue")]
    names = [_name(scope.builder, layer, 0) for layer in sources]
    # with a KV cache, which its name shows, a mask covers the cache and the new tokens
    has_past = any("past" in name for name in names)
    for layer, name in zip(sources, names, strict=True):
        output = layer.outputs[0]
        dtype = output.meta.dtype or element_type(layer.data.get("element_type", ""))
        scope.values[layer.index, output.port] = name
        scope.builder.input(name, Meta(int(dtype), output.meta.sizes), has_past=has_past)


def declare_outputs(scope: LayerScope) -> None:
    """Add the results of the model, and the next values of its variables."""
    for layer in scope.network.layers.values():
        if layer.kind in ("Result", "Assign"):
            # a name for results and a path for nodes, which are the same here; no node is added
            call = LayerCall(scope, layer.name, layer.name, layer)
            scope.builder.graph.output.append(ValueInfo(call.value(0)))


def lower_layers(scope: LayerScope) -> None:
    """Lower the layers of a graph, each after the layers that it reads.

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
    # a layer before it includes this one
    if all(port in scope.values for port in ports):
        return
    builder = scope.builder
    name = layer.name or layer.kind
    # its results and its nodes have the same name
    call = LayerCall(scope, name, name, layer)
    if _is_folded(call):
        return
    start = len(builder.graph.node)
    is_flow = layer.kind in FLOWS
    lowering = partial(lower_flow, lower=lower_layers) if is_flow else LOWERINGS.find(layer.kind)
    results: Sequence[str] | None = None
    if lowering is not None:
        with call.attempt(scope.values):
            lowered = lowering(call)
            listed = [lowered] if isinstance(lowered, str) else list(lowered)
            if len(listed) < len(ports):
                raise ValueError("fewer results than the layer has")
            results = listed
    if results is None:
        # without a lowering, or after one that failed, no layer is included
        call.followers.clear()
        operands = [call.value(at) for at in range(len(layer.inputs))]
        results = call.several(layer.kind, operands, len(ports), domain="ai.openvino")
    names = [_name(builder, layer, at) for at in range(len(ports))]
    metas = [o.meta for o in layer.outputs]
    settled = builder.settle(start, results, names, metas)
    scope.values.update(zip(ports, settled, strict=False))
    scope.values.update(dict.fromkeys(call.followers, settled[0] if settled else ""))


def _is_folded(call: LayerCall) -> bool:
    """Return True for a layer that only converts a stored tensor: its readers read the tensor."""
    layer = call.layer
    port = layer.index, layer.outputs[0].port
    return layer.kind in CONVERSIONS and call.scope.stored_at(port) is not None


def _ordered(network: LayerGraph) -> list[int]:
    """Return the numbers of layers, each after those it reads; as in the document if that is so."""
    before: dict[int, list[int]] = {index: [] for index in network.layers}
    for (target, _), (source, _) in network.edges.items():
        before[target].append(source)
    seen: set[int] = set()
    for index, sources in before.items():
        # documents are usually in order
        seen.add(index)
        if not seen.issuperset(sources):
            return list(TopologicalSorter(before).static_order())
    return list(before)


def _name(builder: GraphBuilder, layer: NetLayer, at: int) -> str:
    """Return an unused name for a result of a layer."""
    output = layer.outputs[at]
    name = output.name or (f"{layer.name}.{output.port}" if at else layer.name)
    return builder.reserved(name, layer.kind)
