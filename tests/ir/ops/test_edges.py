"""Shapes at the edges: nothing to reduce, parts of nothing, symbolic axes, unequal widths."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.errors import ModelError, ShapeError
from perfc.ir.ops.convolution.conv import NhwcConv
from perfc.ir.symbolic.dim import symbol
from perfc.ir.tensors.broadcast import broadcast_extent
from perfc.ir.tensors.types import DType

from .test_matmul import shape, value, work

F16 = DType.F16


def typed(node, inputs, stored=(), opset=18):
    """Types of the results of one node."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "g",
        [info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [info(n, TensorProto.FLOAT, None) for n in node.output],
        [numpy_helper.from_array(np.array(a), n) for n, a in stored],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return [str(v.type) for v in perfc.analyze(model, predictor="kernels").module.graph.outputs]


@pytest.mark.parametrize(
    ("extents", "axis", "keepdims", "result"),
    [
        ([4, 0], -1, 0, "f32[4]"),
        ([4, 0], -1, 1, "f32[4, 1]"),
        ([4, 0], -2, 0, "f32[0]"),
        ([2, 0, 3], -2, 0, "f32[2, 3]"),
        ([2, 0, 3], 0, 1, "f32[1, 0, 3]"),
    ],
)
def test_a_reduction_of_no_elements(extents, axis, keepdims, result):
    """Expected shapes are those of ONNX Runtime 1.32."""
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=keepdims)
    assert typed(node, {"x": extents}, [("axes", [axis])]) == [result]


@pytest.mark.parametrize(
    ("extent", "parts", "sizes"),
    [(9, 4, [3, 3, 3, 0]), (8, 5, [2, 2, 2, 2, 0]), (10, 4, [3, 3, 3, 1]), (0, 3, [0, 0, 0])],
)
def test_the_last_part_may_be_empty(extent, parts, sizes):
    names = [f"y{i}" for i in range(parts)]
    node = helper.make_node("Split", ["x"], names, num_outputs=parts)
    assert typed(node, {"x": [extent]}) == [f"f32[{n}]" for n in sizes]


def test_more_parts_than_there_are_elements_are_refused():
    node = helper.make_node("Split", ["x"], [f"y{i}" for i in range(6)], num_outputs=6)
    with pytest.raises(ShapeError, match="6 parts of 2 are more than an extent of 9"):
        typed(node, {"x": [9]})


def test_axes_that_are_symbols_do_not_repeat():
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Shape", ["z"], ["axes"]),
        helper.make_node("Unsqueeze", ["x", "axes"], ["y"]),
    ]
    inputs = [info("x", TensorProto.FLOAT, [3]), info("z", TensorProto.FLOAT, ["A", "B"])]
    graph = helper.make_graph(nodes, "g", inputs, [info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    (result,) = perfc.analyze(model, dims={"A": 0, "B": 2}).module.graph.outputs
    assert len(result.type.shape) == 3


def test_bits_are_read_as_a_type_of_the_same_width():
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT32)
    assert typed(node, {"x": [3]}, opset=26) == ["i32[3]"]
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT16)
    with pytest.raises(ShapeError, match="32 bits of f32 are not 16 of i16"):
        typed(node, {"x": [3]}, opset=26)


def test_filters_of_channels_last_have_their_channels_last():
    """``fusion_nhwc_conv.py`` of ONNX Runtime transposes the filters with the maps."""
    x = value(1, 8, 8, 4, dtype=F16)
    op = NhwcConv(kernel_shape=(3, 3), pads=(1, 1, 1, 1))
    for filters in (value(16, 3, 3, 4, dtype=F16), value(16, 4, 3, 3, dtype=F16)):
        assert shape(op, x, filters) == "f16[1, 8, 8, 16]"
        assert work(op, x, filters).mac == 64 * 16 * 9 * 4
    unknown = value(symbol("N"), symbol("H"), 8, symbol("C"), dtype=F16)
    assert shape(op, unknown, value(16, 3, 3, 4, dtype=F16)).endswith("16]")


def test_a_stored_tensor_has_no_negative_extent():
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [info("x", TensorProto.FLOAT, [3])],
        [info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("w", 1, [3], [1, 2, 3])],
    )
    graph.initializer[0].dims[:] = [-5, 3]
    with pytest.raises(ModelError, match=r"'w' has the extents \[-5, 3\]"):
        perfc.analyze(helper.make_model(graph))


def test_names_in_a_broadcast_extent_are_quoted_once():
    extent = symbol("past a", 0)
    for name in ("b,c", "past-d", "e f"):
        extent = broadcast_extent(extent, symbol(name, 0))
    assert str(extent).count("`") == 2
    assert "\\u0060" not in str(extent)
