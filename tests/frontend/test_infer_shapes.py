"""Types of every value, for numbers that the caller gives to symbols."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perfc.api import infer_shapes

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def model(nodes: Sequence[object], shape: Sequence[int | str], opset: int = 18) -> bytes:
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    outputs = [onnx.ValueInfoProto(name=nodes[-1].output[0])]  # type: ignore[attr-defined]
    graph = helper.make_graph(nodes, "g", [x], outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return bytes(made.SerializeToString())


def test_a_rank_that_symbols_leave_open_is_settled_by_their_numbers() -> None:
    squeeze = model([helper.make_node("Squeeze", ["x"], ["y"])], ["n", "m"])
    assert str(infer_shapes(squeeze)["y"]) == "f32[*]"
    assert str(infer_shapes(squeeze, {"n": 1, "m": 3})["y"]) == "f32[3]"
    assert str(infer_shapes(squeeze, {"n": 2, "m": 3})["y"]) == "f32[2, 3]"


def test_a_symbol_without_a_number_stays() -> None:
    relu = model([helper.make_node("Relu", ["x"], ["y"])], ["n", "m"])
    assert str(infer_shapes(relu, {"m": 3})["y"]) == "f32[n, 3]"


@pytest.mark.parametrize("axis", [0, -1])
def test_reducing_nothing_leaves_one_element_as_in_onnx_runtime(axis: int) -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_ints=[axis]),
        helper.make_node("ReduceSum", ["x", "a"], ["y"]),
    ]
    assert str(infer_shapes(model(nodes, ["n"]), {"n": 0})["y"]) == "f32[1]"


def test_a_shape_computed_in_floats_passes_quantization() -> None:
    def constant(name: str, value: float, kind: int = onnx.TensorProto.FLOAT) -> object:
        tensor = helper.make_tensor(name, kind, [], [value])
        return helper.make_node("Constant", [], [name], value=tensor)

    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=1),
        helper.make_node("Cast", ["s"], ["f"], to=onnx.TensorProto.FLOAT),
        constant("two", 2.0),
        constant("scale", 16 / 127),
        constant("zero", 0, onnx.TensorProto.INT8),
        helper.make_node("Div", ["f", "two"], ["half"]),
        helper.make_node("QuantizeLinear", ["half", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("Ceil", ["d"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["rows"], to=onnx.TensorProto.INT64),
        helper.make_node("Constant", [], ["rest"], value_ints=[-1]),
        helper.make_node("Concat", ["rest", "rows"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    assert str(infer_shapes(model(nodes, ["n", 32]))["y"]) == "f32[2*n, 16]"
