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


@pytest.mark.parametrize(("axis", "expected"), [(0, (1, 1)), (-1, (0, 1))])
def test_reducing_nothing_covers_what_onnx_runtime_does_too(
    axis: int, expected: tuple[int, int]
) -> None:
    from perfc.ir.dim import interval
    from perfc.ir.types import TensorType

    nodes = [
        helper.make_node("Constant", [], ["a"], value_ints=[axis]),
        helper.make_node("ReduceSum", ["x", "a"], ["y"]),
    ]
    found = infer_shapes(model(nodes, ["n"]), {"n": 0})["y"]
    assert isinstance(found, TensorType)
    assert found.shape is not None
    assert interval(found.shape[0]) == expected
