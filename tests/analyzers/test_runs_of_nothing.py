"""Estimates of graphs that launch nothing, or read nothing."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import perfc
from perfc.view.report import render


@pytest.mark.parametrize("op", ["Identity", "Add"])
@pytest.mark.parametrize("dtype", ["", "f16"])
@pytest.mark.parametrize("reads", [True, False])
def test_graphs_without_kernels_or_inputs_have_a_report(op: str, dtype: str, reads: bool) -> None:
    value = helper.make_tensor_value_info
    one = "x" if reads else "c"
    node = helper.make_node(op, [one] if op == "Identity" else [one, "c"], ["y"])
    stored = [numpy_helper.from_array(np.ones(4, np.float32), "c")]
    inputs = [value("x", onnx.TensorProto.FLOAT, [4])] if reads else []
    result = value("y", onnx.TensorProto.FLOAT, [4])
    model = helper.make_model(helper.make_graph([node], "g", inputs, [result], stored))
    report = perfc.analyze(model, "a100", **({"dtype": dtype} if dtype else {}))
    assert report.to_dict()["summary"]["mac"]["value"] == 0


def test_repetitions_and_batches_of_nothing_are_reported_in_silence() -> None:
    value, i64, f32 = helper.make_tensor_value_info, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    done = value("c", onnx.TensorProto.BOOL, [])
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [value("i", i64, []), done, value("v", f32, [4])],
        [value("d", onnx.TensorProto.BOOL, []), value("w", f32, [4])],
    )
    loop = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    never = [numpy_helper.from_array(np.array(0), "m")]
    gather = helper.make_node("Gather", ["m", "x"], ["y"])
    table = [numpy_helper.from_array(np.ones((4, 3), np.float32), "m")]
    for node, stored, x in (
        (loop, never, value("x", f32, [4])),
        (gather, table, value("x", i64, [0])),
    ):
        y = onnx.ValueInfoProto(name="y")
        model = helper.make_model(helper.make_graph([node], "g", [x], [y], stored))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert render(perfc.analyze(model, "a100"))


def test_a_fit_of_a_graph_that_takes_no_time_has_a_table() -> None:
    from perfc.study.fit.search import fitted
    from perfc.study.fit.views import table

    node = helper.make_node("Add", ["c", "c"], ["y"])
    stored = [numpy_helper.from_array(np.ones(4, np.float32), "c")]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])
    model = helper.make_model(helper.make_graph([node], "g", [], [result], stored))
    assert table(fitted(perfc.analyze(model, "a100"), is_auto=False)).rows


def test_a_whole_run_of_views_is_predicted_in_silence() -> None:
    from perfc.analyzers.steps.setting import Precision, Setting
    from perfc.analyzers.whole_runs.estimate import estimate
    from perfc.deployment.reading import read

    node = helper.make_node("Dropout", ["x"], ["y"])
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])
    y = onnx.ValueInfoProto(name="y")
    module, _ = read(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = estimate(module, None, "a100", Setting(Precision.AMP_F16))
    assert found.low <= found.value <= found.high
