"""Fixes are written only where onnxruntime gives the same: what is equal, and what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("onnxruntime")

from perfc.api import typed
from perfc.review.lint.fixes.edit import FixError
from perfc.review.lint.fixes.proof import RUNS, _is_equal, prove


def model(*nodes: onnx.NodeProto, extent: object = "n", dtype: int = TensorProto.FLOAT) -> bytes:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [extent, 4])
    y = helper.make_tensor_value_info("y", dtype, None)
    one = numpy_helper.from_array(np.ones(4, np.float32), "one")
    graph = helper.make_graph(list(nodes), "g", [x], [y], [one])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()  # type: ignore[no-any-return]


def proven(before: bytes, after: bytes, folder: Path) -> int:
    return prove(before, after, typed(before), folder)


RELU = model(helper.make_node("Relu", ["x"], ["y"]))


def test_equal_models_are_equal_on_every_input(tmp_path: Path) -> None:
    zero = helper.make_node("Sub", ["one", "one"], ["zero"])
    other = model(zero, helper.make_node("Max", ["x", "zero"], ["y"]))
    assert proven(RELU, other, tmp_path) == RUNS == 5
    nan = model(helper.make_node("Sqrt", ["x"], ["y"]))
    assert proven(nan, nan, tmp_path) == RUNS, "not a number is equal to itself"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Abs", ["x"], ["y"]), "differs in output 'y' on random input 0"),
        (helper.make_node("Add", ["x", "one"], ["y"]), "differs in output 'y'"),
        (helper.make_node("Transpose", ["x"], ["y"]), "differs in output 'y'"),
        (helper.make_node("Reshape", ["x", "one"], ["y"]), "cannot load the fixed"),
    ],
)
def test_other_models_are_refused(node: onnx.NodeProto, message: str, tmp_path: Path) -> None:
    with pytest.raises(FixError, match=message):
        proven(RELU, model(node), tmp_path)


def test_outputs_have_one_type(tmp_path: Path) -> None:
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)
    with pytest.raises(FixError, match="output 'y' is not a tensor of one type in both"):
        proven(RELU, model(cast, dtype=TensorProto.DOUBLE), tmp_path)


def test_a_fix_that_holds_at_one_size_alone_is_refused(tmp_path: Path) -> None:
    shape = helper.make_node(
        "Constant", [], ["s"], value=numpy_helper.from_array(np.array([1, 4], np.int64))
    )
    fixed = model(
        shape,
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Reshape", ["r", "s"], ["y"]),
    )
    with pytest.raises(FixError, match="the fixed model does not run"):
        proven(RELU, fixed, tmp_path)


def test_elements_are_equal_bit_by_bit_and_nan_to_nan() -> None:
    a = np.array([1.0, np.nan, np.inf], np.float32)
    assert _is_equal(a, a.copy())
    assert not _is_equal(a, np.array([1.0, 2.0, np.inf], np.float32))
    assert not _is_equal(a, np.array([np.nan, np.nan, np.inf], np.float32))
    assert not _is_equal(a, a.astype(np.float64))
    assert not _is_equal(a, a[:2])
    assert _is_equal(np.array(["x"]), np.array(["x"]))
    assert not _is_equal(np.array([1, 2]), np.array([1, 3]))
