"""Layers with graphs: branches, loops and iterations over the parts of a tensor.

A map of ports has entries, each with a port of the layer and the layer in the body that it feeds,
or that feeds it. States of a loop are inputs of its body that a back edge feeds again. An entry
with an axis cuts an operand into parts along that axis, one for each iteration, or stacks results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..lowering.elements import DataType
from ..reading.proto import ValueInfo
from .call import LayerCall, LayerScope
from .document import network_of

FLOWS = frozenset({"If", "Loop", "TensorIterator"})
"""Layers with bodies."""
Body = Callable[[LayerScope], None]
"""Function that lowers the layers of a graph."""


def lower_flow(c: LayerCall, lower: Body) -> list[str]:
    """Return the results of a layer with graphs."""
    return _branches(c, lower) if c.layer.kind == "If" else _iterations(c, lower)


def _ports(c: LayerCall, name: str, kind: str) -> list[Mapping[str, str]]:
    """Return the attributes of the entries of a map between ports of a layer and of its body."""
    return [e.attrib for e in c.layer.element.iterfind(f"{name}/{kind}")]


def _inner(c: LayerCall, body: str) -> LayerScope:
    """Return the scope of a body; nothing of it is lowered yet."""
    element = c.layer.element.find(body)
    if element is None:
        raise LookupError(f"no {body}")
    return LayerScope(c.builder, network_of(element), c.scope.elements, depth=c.scope.depth + 1)


def _outer(c: LayerCall, port: str) -> str:
    """Return the operand of an external port."""
    return c.value(c.layer.inputs.index(int(port)))


def _bind(scope: LayerScope, layer: str, value: str) -> None:
    """Make a value that of a parameter of a body; ``layer`` is the number of the parameter."""
    index = int(layer)
    scope.values[index, scope.network.layers[index].outputs[0].port] = value


def _result(c: LayerCall, scope: LayerScope, layer: str) -> str:
    """Return the value of a result of a body.

    A graph of ONNX must make its results itself, so that each goes through an `Identity`.
    """
    call = LayerCall(scope, c.name, c.path, scope.network.layers[int(layer)])
    return call.emit("Identity", call.value(0))


def _branches(c: LayerCall, lower: Body) -> list[str]:
    """Return the results of a branching, whose two bodies become graphs of ONNX's If."""
    branches: dict[str, Any] = {}
    for branch in ("then", "else"):
        scope = _inner(c, f"{branch}_body")
        for entry in _ports(c, f"{branch}_port_map", "input"):
            _bind(scope, entry["internal_layer_id"], _outer(c, entry["external_port_id"]))
        results = {
            int(e["external_port_id"]): e["internal_layer_id"]
            for e in _ports(c, f"{branch}_port_map", "output")
        }
        outer = c.builder.enter()
        lower(scope)
        for output in c.layer.outputs:
            value = _result(c, scope, results[output.port])
            c.builder.graph.output.append(ValueInfo(value))
        graph = c.builder.leave(outer)
        graph.name = f"{c.name}.{branch}"
        branches[f"{branch}_branch"] = graph
    return c.several("If", (c.x,), len(c.layer.outputs), "", **branches)


def _iterations(c: LayerCall, lower: Body) -> list[str]:
    """Return the results of a loop: last values of its states, and stacked parts."""
    scope, entries = _inner(c, "body"), _ports(c, "port_map", "input")
    back = {e["to-layer"]: e["from-layer"] for e in _ports(c, "back_edges", "edge")}
    states = [e for e in entries if e["internal_layer_id"] in back]
    count, condition = _bounds(c, entries)
    initial = [_outer(c, e["external_port_id"]) for e in states]
    # a stride of -1 begins with the last part, which costs the same
    if any(abs(int(e.get(size, "1"))) != 1 for e in entries for size in ("stride", "part_size")):
        raise ValueError("parts of several elements")
    operands = {  # a negative port is no operand but the number of the iteration
        e["internal_layer_id"]: _outer(c, e["external_port_id"])
        for e in entries
        if e not in states and int(e["external_port_id"]) >= 0
    }
    outputs = _ports(c, "port_map", "output")
    outer = c.builder.enter()
    heads = _heads(c, scope, states)
    for entry in entries:
        if entry not in states:
            operand = operands.get(entry["internal_layer_id"])
            _bind(scope, entry["internal_layer_id"], _of_iteration(c, entry, operand, heads[0]))
    lower(scope)
    holds = [e for e in outputs if e.get("purpose") == "execution_condition"]
    ends = [  # results of a body in ONNX: condition, next states, parts to be stacked
        _result(c, scope, holds[0]["internal_layer_id"]) if holds else c.emit("Identity", heads[1])
    ]
    ends += [_result(c, scope, back[e["internal_layer_id"]]) for e in states]
    parts = [e for e in outputs if "axis" in e and int(e["external_port_id"]) >= 0]
    for entry in parts:
        part = _result(c, scope, entry["internal_layer_id"])
        ends.append(c.emit("Squeeze", part, c.ints(int(entry["axis"]))))
    c.builder.graph.output.extend(ValueInfo(name) for name in ends)
    graph = c.builder.leave(outer)
    graph.name = f"{c.name}.body"
    loop = c.several("Loop", (count, condition, *initial), len(states) + len(parts), body=graph)
    position_of = {e["internal_layer_id"]: at for at, e in enumerate(states)}
    last = {back[layer]: loop[at] for layer, at in position_of.items()}
    stacked = {  # by port of the layer: parts follow the states among the results
        int(e["external_port_id"]): (loop[len(states) + at], int(e["axis"]))
        for at, e in enumerate(parts)
    }
    inner_of = {int(e["external_port_id"]): e["internal_layer_id"] for e in outputs}
    results: list[str] = []
    for output in c.layer.outputs:
        if output.port in stacked:
            value, axis = stacked[output.port]
            order = [*range(1, axis + 1), 0, *range(axis + 1, output.meta.rank)]
            is_moved = axis and output.meta.rank  # ONNX stacks parts along axis 0
            results.append(c.emit("Transpose", value, perm=tuple(order)) if is_moved else value)
        else:
            results.append(last[inner_of[output.port]])
    return results


def _of_iteration(c: LayerCall, entry: Mapping[str, str], operand: str | None, number: str) -> str:
    """Return the value of an entry in an iteration: its number, a part or a whole operand."""
    if operand is None:
        return number
    if "axis" not in entry:
        return operand
    at = c.emit("Unsqueeze", number, c.ints(0))
    return c.emit("Gather", operand, at, axis=int(entry["axis"]))


def _bounds(c: LayerCall, entries: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """Return the number of iterations and the condition to begin; "" for none."""
    if c.layer.kind == "Loop":
        # an endless loop has a count of -1
        stored = c.stored(0)
        is_endless = stored is not None and stored.data is not None and stored.values()[0] < 0
        return "" if is_endless else c.as_integers(0), c.value(1)
    # a TensorIterator runs for each part of its operands: the extent of one is the number
    entry = next(e for e in entries if "axis" in e)
    axis, value = int(entry["axis"]), _outer(c, entry["external_port_id"])
    at = c.scalar(axis, DataType.INT64)
    return c.emit("Gather", c.emit("Shape", value), at, axis=0), ""


def _heads(c: LayerCall, scope: LayerScope, states: Sequence[Mapping[str, str]]) -> list[str]:
    """Add the inputs of the body of a loop; return the iteration and the condition."""
    layers = [scope.network.layers[int(e["internal_layer_id"])] for e in states]
    heads = c.builder.loop_inputs(c.name, [layer.outputs[0].meta for layer in layers])
    for entry, name in zip(states, heads[2:], strict=True):
        _bind(scope, entry["internal_layer_id"], name)
    return heads[:2]
