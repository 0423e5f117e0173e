"""Sizes of symbols: put in and checked everywhere, guessed so that they go together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc import cli
from perfc.errors import PerfcError
from perfc.ir.symbolic.evaluate import evaluate

FIXTURES = Path(__file__).parents[1] / "fixtures"


def tensor(name: str, *shape: str | int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape or None)


def model(
    node: onnx.NodeProto, *inputs: onnx.ValueInfoProto, **stored: np.ndarray
) -> onnx.ModelProto:
    weights = [numpy_helper.from_array(a, name) for name, a in stored.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def speech() -> onnx.ModelProto:
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[5])
    return model(node, tensor("x", "batch", 1, "samples"), w=np.zeros((16, 1, 10), np.float32))


def cropped() -> onnx.ModelProto:
    node = helper.make_node("Pad", ["x", "p"], ["y"])
    return model(node, tensor("x", "n"), p=np.array([0, -3]))


def product() -> onnx.ModelProto:
    return model(
        helper.make_node("MatMul", ["x", "z"], ["y"]), tensor("x", "n", "k"), tensor("z", "j", 4)
    )


@pytest.mark.parametrize("made", [speech, cropped, product])
def test_default_sizes_leave_no_extent_empty(made: object) -> None:
    assert callable(made)
    report = perfc.analyze(made())
    env = report.env
    for node in report.module.graph.nodes:
        for v in node.results:
            extents = [evaluate(d, env) for d in v.type.shape]
            assert all(d >= 1 for d in extents), (node.name, extents)
    peak, _ = report.liveness.peak(env)
    assert peak > 0
    mac = sum(k.counts.mac for k in report.roofline.kernels)
    assert mac == report.cost.work.at(env).mac
    assert mac > 0 or report.cost.work.mac == 0


@pytest.mark.parametrize(
    ("made", "dims", "said"),
    [
        (speech, {"samples": 3}, r"samples = 3 leaves y with extent -1 \(samples at least 10"),
        (cropped, {"n": 1}, r"n = 1 leaves y with extent -2"),
        (product, {"k": 3, "j": 5}, r"k = 3, j = 5 do not go together"),
    ],
)
@pytest.mark.parametrize("door", ["analyze", "infer_shapes"])
def test_sizes_that_cannot_be_are_errors_that_name_them(
    made: object, dims: dict[str, int], said: str, door: str
) -> None:
    assert callable(made)
    with pytest.raises(PerfcError, match=said):
        getattr(perfc, door)(made(), dims=dims)


def test_one_size_given_decides_what_must_equal_it() -> None:
    assert perfc.analyze(product(), dims={"k": 3}).env == {"n": 1, "k": 3, "j": 3}


@pytest.mark.parametrize(
    "command",
    [
        ["analyze"],
        ["lint"],
        ["explain", "0"],
        ["analyze", "-o", "out.onnx"],
        ["dev ir"],
        ["dev opt", "--passes", "canonicalize"],
        ["sweep"],
    ],
)
def test_every_door_refuses_sizes_that_cannot_be(
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(speech(), "m.onnx")
    name, *rest = command
    code = cli.run([*name.split(), "m.onnx", *rest, "--dim", "samples=3"])
    printed = capsys.readouterr()
    assert code == 2, printed
    assert "samples" in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "out.onnx").exists()


def test_a_speech_model_is_analyzed_at_its_default_length() -> None:
    report = perfc.analyze(FIXTURES / "speech-legacy.onnx.gz")
    assert report.env["samples"] >= 400
    assert not report.cost.is_bound


def test_with_sizes_given_nothing_is_left_open() -> None:
    """1,112,768 multiply-accumulates are what PyTorch's counter says of the exported module."""
    result = perfc.analyze(FIXTURES / "speech-legacy.onnx.gz", dims={"batch": 1, "samples": 1600})
    assert result.roofline.kernels
    assert sum(k.counts.mac * k.launches for k in result.roofline.kernels) == 1_112_768
    assert not result.cost.is_bound


def test_a_mask_covers_cache_and_new_tokens() -> None:
    report = perfc.analyze(FIXTURES / "cache-dynamo.onnx.gz")
    ids, mask, keys, _ = (v.type.shape for v in report.module.graph.inputs)
    at = report.env
    assert at[str(ids[0])] == 1
    assert at[str(mask[1])] == at[str(ids[1])] + at[str(keys[2])]


def test_a_latent_is_no_photograph() -> None:
    report = perfc.analyze(FIXTURES / "latent-dynamo.onnx.gz")
    sample = report.module.graph.inputs[0].type.shape
    assert [report.env[str(d)] for d in sample[2:]] == [64, 64]


def test_the_report_says_what_each_default_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FIXTURES / "cache-dynamo.onnx.gz")
    assert cli.run(["analyze", path, "--view", "assumptions"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "assumed, set with --dim" in printed
    assert "(batch)" in printed
    assert "(sequence)" in printed
