"""Runs a module of the IR under ONNX Runtime: dedicated operators are expanded into ONNX's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from perfc.ir.gradients.tape import Tape
from perfc.ir.graph import Graph, Node, Value
from perfc.ir.op import Op
from perfc.ir.ops.elementwise.elementwise import Reciprocal, Sqrt
from perfc.ir.ops.movement.view import Identity
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.syntax.text import all_values
from perfc.ir.tensors.types import DType, TensorType

OPSET = 21
KINDS: Mapping[DType, Any] = {
    DType.F32: np.float32,
    DType.F64: np.float64,
    DType.I64: np.int64,
    DType.I32: np.int32,
    DType.BOOL: np.bool_,
    DType.U8: np.uint8,
    DType.F16: np.float16,
    DType.I8: np.int8,
}
RENAMED = {"RMSNormalization": "SimplifiedLayerNormalization"}
"""Operators that ONNX Runtime has under another name, with the results that rules read."""
CONTRIB = {"FusedMatMul": "com.microsoft", "QuickGelu": "com.microsoft"}


def expanded(graph: Graph) -> tuple[list[Node], list[Value]]:
    """Nodes in ONNX's operators alone, and the constants that expansions added."""
    tape = Tape(v.name for v in all_values(graph))
    pending = list(reversed(graph.nodes))
    nodes: list[Node] = []
    while pending:
        node = pending.pop()
        made = statistics_of(node, tape) or expansion_of(node, tape)
        if made is None:
            nodes.append(node)
            continue
        written, results = made
        pairs = zip(results, node.outputs, strict=False)
        body = [*written, *(Node(Identity(), (n,), (old,)) for n, old in pairs if n and old)]
        pending += reversed(body)
    return needed(nodes, graph.outputs), list(tape.constants.values())


def needed(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[Node]:
    """Nodes that the outputs are made of."""
    wanted = set(outputs)
    kept: list[Node] = []
    for node in reversed(nodes):
        if any(v in wanted for v in node.results):
            kept.append(node)
            wanted.update(v for v in node.inputs if v is not None)
    return kept[::-1]


def expansion_of(node: Node, tape: Tape) -> tuple[list[Node], tuple[Value | None, ...]] | None:
    """An operator's own expansion."""
    tape.nodes = []
    tape.place = node.loc
    types = tuple(node.op.infer(node.inputs))
    found = node.op.expand(tape, node.inputs, types)
    return None if found is None else (tape.nodes, found)


def statistics_of(node: Node, tape: Tape) -> tuple[list[Node], tuple[Value | None, ...]] | None:
    """Batch normalisation that trains, whose saved statistics no ONNX operator gives."""
    op = node.op
    if not isinstance(op, BatchNormalization) or not op.training_mode or len(node.outputs) < 4:
        return None
    tape.nodes = []
    x, scale, bias = (v for v in node.inputs[:3] if v is not None)
    assert isinstance(x.type, TensorType)
    shape = x.type.shape or ()
    axes, column = (0, *range(2, len(shape))), (1, shape[1], *(1 for _ in shape[2:]))
    mean = tape.mean(x, axes)
    moved = tape.sub(x, mean)
    variance = tape.mean(tape.mul(moved, moved), axes)
    root = tape.apply(Sqrt(), tape.add(variance, tape.number(op.epsilon)))
    inverse = tape.apply(Reciprocal(), root)
    hat = tape.mul(moved, inverse)
    y = tape.add(tape.mul(hat, tape.reshape(scale, column)), tape.reshape(bias, column))
    flat = (shape[1],)
    return tape.nodes, (y, None, None, tape.reshape(mean, flat), tape.reshape(inverse, flat))


def attributes_of(op: Op, name: str, domain: str) -> dict[str, Any]:
    """Attributes as ONNX has them."""
    known = None
    if not domain and name != "SimplifiedLayerNormalization":
        known = onnx.defs.get_schema(name, OPSET, "").attributes
    found: dict[str, Any] = {}
    for f in fields(op):
        value = getattr(op, f.name)
        if (
            value is None
            or value == ()
            or value == ""
            or (known is not None and f.name not in known)
        ):
            continue
        if known is None and value == f.default:
            continue
        found[f.name] = value.onnx if isinstance(value, DType) else value
    return found


def model_of(graph: Graph, stored: Mapping[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """The graph as a model; contents of weights that are not known come from ``stored``."""
    nodes, constants = expanded(graph)
    protos = []
    for node in nodes:
        name = node.op.onnx.split()[0].rpartition("::")[2]
        name = RENAMED.get(name, name)
        domain = CONTRIB.get(name, "")
        attrs = attributes_of(node.op, name, domain)
        if name == "Split" and len(node.inputs) > 1:
            attrs.pop("num_outputs", None)
        protos.append(
            helper.make_node(
                name,
                [v.name if v else "" for v in node.inputs],
                [v.name if v else "" for v in node.outputs],
                domain=domain,
                **attrs,
            )
        )
    weights = [
        numpy_helper.from_array(array_of(w, stored or {}), w.name)
        for w in (*graph.weights, *constants)
    ]
    made = helper.make_graph(
        protos,
        "g",
        [described(v) for v in graph.inputs],
        [described(v) for v in graph.outputs],
        weights,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def described(v: Value) -> onnx.ValueInfoProto:
    assert isinstance(v.type, TensorType)
    return helper.make_tensor_value_info(v.name, v.type.dtype.onnx, None)


def array_of(w: Value, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Contents of a stored tensor."""
    if w.name in stored:
        return stored[w.name]
    assert isinstance(w.type, TensorType)
    assert w.known is not None, f"contents of {w.name} are not known"
    return np.array(w.known.items, dtype=KINDS[w.type.dtype]).reshape(w.known.shape)


def run(
    graph: Graph, feeds: Mapping[str, np.ndarray], stored: Mapping[str, np.ndarray] | None = None
) -> Sequence[np.ndarray]:
    """Results of the graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model_of(graph, stored).SerializeToString(), options)
    names = {i.name for i in session.get_inputs()}
    found: Sequence[np.ndarray] = session.run(None, {k: v for k, v in feeds.items() if k in names})
    return found
