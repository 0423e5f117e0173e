"""Annotated models hold the report's numbers and are otherwise the models they were."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc import cli

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = MODELS / "resnet50.onnx.gz"


def props(holder: onnx.NodeProto | onnx.ModelProto) -> dict[str, str]:
    return {p.key: p.value for p in holder.metadata_props}


def annotated(path: Path, out: Path, *words: str) -> onnx.ModelProto:
    """The model that ``perfc analyze -o out.onnx`` writes."""
    assert cli.run(["analyze", str(path), "-t", "a100", *words, "-o", str(out)]) == 0
    return onnx.load(out, load_external_data=False)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    return annotated(RESNET, tmp_path_factory.mktemp("out") / "out.onnx", "--batch", "8")


@pytest.mark.parametrize("name", ["resnet50", "swin-t"])
def test_sums_over_nodes_are_the_totals_of_the_report(name: str, tmp_path: Path) -> None:
    path = MODELS / f"{name}.onnx.gz"
    report, model = (
        perfc.analyze(path, "a100", batch=8),
        annotated(path, tmp_path / "out.onnx", "--batch", "8"),
    )
    result = [props(n) for n in model.graph.node]
    sustained_s = sum(float(p.get("perfc.sustained_s", 0)) for p in result)
    assert sustained_s == pytest.approx(report.roofline.time_s, rel=1e-4)
    mac = sum(int(p.get("perfc.mac", 0)) for p in result)
    assert mac == report.views.summary.mac.value
    assert props(model)["perfc.target"] == "a100-sxm4-80gb"
    total = report.prediction.total
    predicted_s = sum(float(p.get("perfc.predicted_s", 0)) for p in result)
    assert predicted_s == pytest.approx(report.prediction.kernels_s, rel=1e-4)
    assert float(props(model)["perfc.predicted_s"]) == pytest.approx(total.time_s, rel=1e-5)
    for p in result:
        if "perfc.predicted_s" in p:
            low, high = float(p["perfc.predicted_low_s"]), float(p["perfc.predicted_high_s"])
            assert low <= float(p["perfc.predicted_s"]) <= high
            assert float(p["perfc.floor_s"]) <= float(p["perfc.sustained_s"])
    led = {node.name: list[Any]() for node in model.graph.node}
    for kernel in report.roofline.kernels:
        led[kernel.kernel.anchor.loc.stored_name].append(kernel)
    assert any(len(kernels) > 1 for kernels in led.values())
    for name, p in zip(led, result, strict=True):
        longest = max(led[name], key=lambda k: k.time_s, default=None)
        assert p.get("perfc.bound", "") == (longest.binding.value if longest else "")
    share = sum(float(p.get("perfc.share", 0)) for p in result)
    assert share == pytest.approx(report.prediction.kernels_s / total.time_s, abs=0.02)


def test_a_convolution_shows_its_numbers_and_its_kernel(resnet: onnx.ModelProto) -> None:
    result = props(resnet.graph.node[0])
    assert result["perfc.mac"] == str(8 * 64 * 112 * 112 * 3 * 7 * 7)
    assert result["perfc.flop"] == str(2 * 8 * 64 * 112 * 112 * 3 * 7 * 7)
    assert result["perfc.coverage"] == "exact"
    # copies of the image and of its weights with channels last come before
    assert result["perfc.kernel"].startswith("2: Conv")
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


def test_nothing_but_properties_and_shapes_is_added(resnet: onnx.ModelProto) -> None:
    before = onnx.ModelProto.FromString(gzip.decompress(RESNET.read_bytes()))
    assert resnet != before
    assert stripped(resnet) == stripped(before)
    stated = list(before.graph.value_info)
    assert list(resnet.graph.value_info)[: len(stated)] == stated


def test_annotating_twice_is_annotating_once(tmp_path: Path) -> None:
    onnx.save(chain(), tmp_path / "m.onnx")
    once = annotated(tmp_path / "m.onnx", tmp_path / "once.onnx")
    assert annotated(tmp_path / "once.onnx", tmp_path / "twice.onnx") == once


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


def test_inferred_shapes_are_filled_in_and_functions_carry_their_bodies_costs(
    tmp_path: Path,
) -> None:
    onnx.save(chain(), tmp_path / "m.onnx")
    model = annotated(tmp_path / "m.onnx", tmp_path / "out.onnx", "--dim", "n=3")
    shapes = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in model.graph.value_info
    }
    assert shapes == {"h": ["n", 4], "t": ["n", 4]}
    call = props(model.graph.node[1])
    assert call["perfc.flop"] == str(3 * 4)
    assert props(model.graph.node[2])["perfc.flop"] == str(3 * 4), "a node without a name"


def test_the_result_passes_the_checker_and_runs(tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    import numpy as np

    onnx.save(chain(), tmp_path / "m.onnx")
    model = annotated(tmp_path / "m.onnx", tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.ones((2, 4), np.float32)})
    assert y.tolist() == [[4.0] * 4] * 2


def test_external_weights_are_neither_needed_nor_read(resnet: onnx.ModelProto) -> None:
    assert props(resnet)["perfc.dims"] == "batch=8"
    stored = [t for t in resnet.graph.initializer if t.external_data]
    assert stored
    assert all(not t.raw_data for t in stored)


def test_a_compressed_output_is_read_back(tmp_path: Path, resnet: onnx.ModelProto) -> None:
    out = tmp_path / "out.onnx.gz"
    assert cli.run(["analyze", str(RESNET), "-t", "a100", "--batch", "8", "-o", str(out)]) == 0
    assert onnx.ModelProto.FromString(gzip.decompress(out.read_bytes())) == resnet
    assert perfc.analyze(out).cost.work.mac == perfc.analyze(RESNET).cost.work.mac


def test_a_model_without_a_file_of_onnx_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.onnx"
    assert cli.run(["analyze", "bert-base-uncased", "-o", str(out)]) == 2
    assert "bert-base-uncased: only an ONNX file can be annotated" in capsys.readouterr().err
    assert not out.exists()


def test_nodes_of_branches_are_annotated_too(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "golden" / "commands" / "branches.onnxtxt"
    model = annotated(path, tmp_path / "out.onnx", "--dim", "n=4", "--dim", "k=7")
    inner = {n.name: props(n) for a in model.graph.node[0].attribute for n in a.g.node}
    assert set(inner) == {"wide", "wide_relu", "apart", "gate", "gated"}
    assert all(result for result in inner.values())
    # the branch with less work is counted: 4 images of 16 x 16, 8 channels, 3 x 3 taps each
    assert int(inner["apart"]["perfc.mac"]) == 4 * 256 * 8 * 9
    assert int(inner["wide"]["perfc.mac"]) == 0
