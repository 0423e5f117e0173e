"""Annotated models hold the report's numbers and are otherwise the models they were."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

from perfc.api import Report, analyze
from perfc.commands.analysis.analyze import command
from perfc.frontend.reading.onnx_file import dim_param, read_model
from perfc.ir import Poly, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.study.annotate import annotate
from perfc.study.annotate.properties import NodeNumbers

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = MODELS / "resnet50.onnx.gz"


def props(holder: onnx.NodeProto | onnx.ModelProto) -> dict[str, str]:
    return {p.key: p.value for p in holder.metadata_props}


def annotated(path: Path) -> tuple[onnx.ModelProto, Report]:
    report = analyze(path, "a100", dims={"batch": 8})
    model = read_model(path)
    annotate(model, report)
    return model, report


@pytest.mark.parametrize("name", ["resnet50", "swin-t", "gpt2"])
def test_sums_over_nodes_are_the_totals_of_the_report(name: str) -> None:
    model, report = annotated(MODELS / f"{name}.onnx.gz")
    result = [props(n) for n in model.graph.node]
    sustained_s = sum(float(p.get("perfc.sustained_s", 0)) for p in result)
    assert sustained_s == pytest.approx(report.roofline.time_s, rel=1e-4)
    mac = sum(int(p.get("perfc.mac", 0)) for p in result)
    assert mac == evaluate(report.cost.work.mac, report.env)
    assert props(model)["perfc.target"] == "a100-sxm4-80gb"
    kernels = [p.time_s for p in report.prediction.kernels]
    foretold = sum(float(p.get("perfc.predicted_s", 0)) for p in result)
    assert foretold == pytest.approx(sum(kernels), rel=1e-4)
    assert float(props(model)["perfc.predicted_s"]) == pytest.approx(
        report.prediction.total.time_s, rel=1e-5
    )
    for p in result:
        if "perfc.predicted_s" in p:
            low, high = float(p["perfc.predicted_low_s"]), float(p["perfc.predicted_high_s"])
            assert low <= float(p["perfc.predicted_s"]) <= high
    share = sum(float(p.get("perfc.share", 0)) for p in result)
    assert share == pytest.approx(sum(kernels) / report.prediction.total.time_s, abs=0.02)


def test_a_convolution_shows_its_numbers_and_its_kernel() -> None:
    model, _ = annotated(RESNET)
    result = props(model.graph.node[0])
    assert result["perfc.mac"] == str(8 * 64 * 112 * 112 * 3 * 7 * 7)
    assert result["perfc.flop"] == str(2 * 8 * 64 * 112 * 112 * 3 * 7 * 7)
    assert result["perfc.coverage"] == "exact"
    # copies of the image and of its weights with channels last come before
    assert result["perfc.kernel"].startswith("2: Conv")
    assert float(result["perfc.floor_s"]) <= float(result["perfc.sustained_s"])
    assert result["perfc.bound"]


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for holder in (copy, *copy.graph.node):
        kept = [p for p in holder.metadata_props if not p.key.startswith("perfc.")]
        del holder.metadata_props[:]
        holder.metadata_props.extend(kept)
    del copy.graph.value_info[:]
    return copy


def test_nothing_but_properties_and_shapes_is_added() -> None:
    before = read_model(RESNET)
    after, _ = annotated(RESNET)
    assert after != before
    assert stripped(after) == stripped(before)
    assert list(after.graph.value_info)[: len(before.graph.value_info)] == list(
        before.graph.value_info
    )


def test_annotating_twice_is_annotating_once() -> None:
    once, report = annotated(RESNET)
    twice = onnx.ModelProto()
    twice.CopyFrom(once)
    annotate(twice, report)
    assert twice == once


def chain(ir_version: int = 8) -> onnx.ModelProto:
    w = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [0.5] * 16)
    inner = helper.make_function(
        "local",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"], name="add")],
        [helper.make_opsetid("", 17)],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
        helper.make_node("Twice", ["h"], ["t"], name="call", domain="local"),
        helper.make_node("Relu", ["t"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [w],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, functions=[inner], opset_imports=opsets, ir_version=ir_version)


def test_inferred_shapes_are_filled_in_and_functions_carry_their_bodies_costs() -> None:
    model = chain()
    report = analyze(model, dims={"n": 3})
    annotate(model, report)
    shapes = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in model.graph.value_info
    }
    assert shapes == {"h": ["n", 4], "t": ["n", 4]}
    call = props(model.graph.node[1])
    assert call["perfc.flop"] == str(3 * 4)
    assert props(model.graph.node[2])["perfc.flop"] == str(3 * 4), "a node without a name"


def test_the_result_passes_the_checker_and_runs() -> None:
    ort = pytest.importorskip("onnxruntime")
    import numpy as np

    model = chain()
    annotate(model, analyze(model))
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.ones((2, 4), np.float32)})
    assert y.tolist() == [[4.0] * 4] * 2


def test_external_weights_are_neither_needed_nor_read(tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    result = CliRunner().invoke(command, [str(RESNET), "-o", str(out), "--dim", "batch=2"])
    assert result.exit_code == 0, result.output
    model = onnx.load(out, load_external_data=False)
    assert props(model)["perfc.dims"] == "batch=2"
    stored = [t for t in model.graph.initializer if t.external_data]
    assert stored
    assert all(not t.raw_data for t in stored)


def test_a_compressed_output_is_read_back(tmp_path: Path) -> None:
    out = tmp_path / "out.onnx.gz"
    CliRunner().invoke(command, [str(RESNET), "-o", str(out)], catch_exceptions=False)
    model = onnx.ModelProto.FromString(gzip.decompress(out.read_bytes()))
    assert analyze(out).cost.work.mac == analyze(RESNET).cost.work.mac
    assert len(model.graph.node) == 175


def test_a_model_without_a_file_of_onnx_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    result = CliRunner().invoke(command, ["bert-base-uncased", "-o", str(out)])
    assert "bert-base-uncased: only an ONNX file can be annotated" in str(result.exception)
    assert not out.exists()


def test_an_extent_is_named_as_onnx_names_it() -> None:
    a, b = symbol("a b", 0), symbol("N")
    assert isinstance(product := a * symbol("c d"), Poly)
    assert dim_param(a) == "a b"
    assert dim_param(b) == "N"
    assert dim_param(product) == "`a b`*`c d`"


def test_nodes_of_branches_are_annotated_too() -> None:
    path = Path(__file__).parents[1] / "golden" / "commands" / "branches.onnxtxt"
    report = analyze(path, "a100", dims={"n": 4, "k": 7})
    model = read_model(path)
    annotate(model, report)
    choice = model.graph.node[0]
    inner = {n.name: props(n) for a in choice.attribute for n in a.g.node}
    assert set(inner) == {"wide", "wide_relu", "apart", "gate", "gated"}
    assert all(result for result in inner.values())
    # the branch with less work is counted: 4 images of 16 x 16, 8 channels, 3 x 3 taps each
    assert int(inner["apart"]["perfc.mac"]) == 4 * 256 * 8 * 9
    assert int(inner["wide"]["perfc.mac"]) == 0


def test_several_kernels_of_one_node_are_summed_and_the_longest_says_what_binds() -> None:
    kernels = [
        SimpleNamespace(time_s=t, floor_s=t / 2, binding=SimpleNamespace(value=name))
        for t, name in ((1.0, "matrix"), (3.0, "device"), (2.0, "launch"))
    ]
    times = [SimpleNamespace(time_s=t, low_s=t / 4, high_s=t * 4) for t in (1.0, 2.0)]
    numbers = NodeNumbers(anchored=cast("Any", kernels), predictions=cast("Any", times))
    assert numbers.bound == "device"
    assert (numbers.sustained_s, numbers.floor_s) == (6.0, 3.0)
    assert numbers.predicted == (3.0, 0.75, 12.0)
    assert NodeNumbers().bound == ""
