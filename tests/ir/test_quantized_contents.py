"""Contents that drive shapes pass quantized operators as onnxruntime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from perfc.api import typed

node = helper.make_node
MS = "com.microsoft"
BINARY = ["a", "as", "z", "b", "bs", "z", "ys", "yz"]
NODES = {
    "add": node("QLinearAdd", BINARY, ["y"], domain=MS),
    "mul": node("QLinearMul", BINARY, ["y"], domain=MS),
    "concat": node(
        "QLinearConcat", ["ys", "yz", "a", "as", "z", "b", "bs", "z"], ["y"], domain=MS, axis=0
    ),
    "where": node("QLinearWhere", ["c", *BINARY], ["y"], domain=MS),
}


def model(nodes: list[onnx.NodeProto], **constants: Any) -> onnx.ModelProto:
    weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    outputs = [onnx.ValueInfoProto(name=o) for n in nodes[-1:] for o in n.output]
    for output, dtype in zip(outputs, (2, 1, 2), strict=False):
        output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, None))
    graph = helper.make_graph(nodes, "g", [], outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def executed(made: onnx.ModelProto) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(made.SerializeToString(), options)
    return list(session.run(None, {}))


@pytest.mark.parametrize("name", NODES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_contents_of_qlinear_operators_are_those_executed(name: str, data: st.DataObject) -> None:
    levels = st.lists(st.integers(0, 255), min_size=3, max_size=3)
    scale = st.sampled_from([0.5, 1.0, 0.031, 2.7])
    made = model(
        [NODES[name]],
        **{k: np.array(data.draw(levels), np.uint8) for k in "ab"},
        **{k: np.float32(data.draw(scale)) for k in ("as", "bs", "ys")},
        **{k: np.uint8(data.draw(st.integers(0, 255))) for k in ("z", "yz")},
        c=np.array([True, False, True]),
    )
    (known,) = [v.known for v in typed(made.SerializeToString()).graph.outputs]
    (result,) = executed(made)
    assert known is not None
    assert known.shape == result.shape
    # onnxruntime rounds products of scales in another order: one level at most
    difference = np.abs(np.array(known.items, int) - result.astype(int).ravel())
    assert difference.max() <= 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-300, 300, width=32, allow_subnormal=False), min_size=1, max_size=5))
# a quotient that f32 rounds up to a half
@example([0.4285714328289032, 0.029411764815449715])
def test_contents_of_dynamic_quantization_are_those_executed(items: list[float]) -> None:
    made = model([node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], x=np.float32(items))
    outputs = typed(made.SerializeToString()).graph.outputs
    for v, result in zip(outputs, executed(made), strict=True):
        assert v.known is not None
        np.testing.assert_allclose(v.known.items, np.ravel(result), rtol=1e-6)


def test_a_shape_through_qlinear_operators_is_as_in_float() -> None:
    """A reshape to twice the rows, its extents computed on quantized numbers."""
    given = helper.make_tensor_value_info("x", 1, (6, 4))
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Cast", ["shape"], ["real"], to=1),
        node("QuantizeLinear", ["real", "s", "z"], ["q"]),
        node("QLinearMul", ["q", "s", "z", "f", "s", "z", "s", "z"], ["twice"], domain=MS),
        node("DequantizeLinear", ["twice", "s", "z"], ["sizes"]),
        node("Cast", ["sizes"], ["whole"], to=7),
        node("Expand", ["one", "whole"], ["y"]),
    ]
    made = model(
        nodes, s=np.float32(1), z=np.uint8(0), f=np.array([2, 1], np.uint8), one=np.float32(1)
    )
    made.graph.input.append(given)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, None))
    (y,) = typed(made.SerializeToString()).graph.outputs
    assert str(y.type) == "f32[12, 4]"
