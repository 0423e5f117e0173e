"""A fix is written whole, proved equal, and never where nobody asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from perfc.cli import run
from tests.review.lint.models import F32, blemished, model, node

ALL = ["--min-gain", "0", "--isolated", "--ignore", "PF106,PF108,PF407"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(blemished(), path)
    return path


def fixed(path: Path, *options: str) -> onnx.ModelProto:
    """What `perfc lint --fix` writes of a model."""
    assert run(["lint", str(path), "--fix", "--min-gain", "0", "--isolated", *options]) in (0, 1)
    return onnx.load(path.with_name("m.fixed.onnx"))


def of(folder: Path, *nodes: onnx.NodeProto) -> Path:
    onnx.save(model(nodes, {"x": ["n", 8]}, {"y": ["n", 8]}), folder / "m.onnx")
    return folder / "m.onnx"


def test_everything_fixable_is_mended_proved_and_gains(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = fixed(file)
    assert [n.op_type for n in made.graph.node] == ["Conv", "Relu", "Mul", "MaxPool", "Div"]
    onnx.checker.check_model(made, full_check=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "5 " in said
    assert run(["lint", str(file.with_name("m.fixed.onnx")), *ALL, "--output-format", "json"]) < 2
    (after,) = json.loads(capsys.readouterr().out)["files"]
    assert not any(f["fixable"] for f in after["findings"])


def test_what_is_not_mended_stays_as_it_was(file: Path) -> None:
    made, before = fixed(file, "--select", "PF101"), onnx.load(file)
    assert [p.value for p in made.metadata_props] == ["somebody"]
    conv = next(n for n in made.graph.node if n.op_type == "Conv")
    assert [p.value for p in conv.metadata_props] == ["stem"]
    assert "left_behind" in {t.name for t in made.graph.initializer}
    assert "dead" in {n.name for n in made.graph.node}
    assert (made.graph.input, made.graph.output) == (before.graph.input, before.graph.output)


def test_the_input_is_written_over_only_when_asked(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()
    assert run(["lint", str(file), "--fix", *ALL]) == 0
    assert file.read_bytes() == before
    assert file.with_name("m.fixed.onnx").is_file()
    assert run(["lint", str(file), "--fix", "-o", str(file), *ALL]) == 2
    assert "--in-place" in capsys.readouterr().err
    assert file.read_bytes() == before
    run(["lint", str(file), "--fix", "--in-place", *ALL])
    assert len(onnx.load(file).graph.node) == 5
    assert sorted(p.name for p in file.parent.iterdir()) == ["m.fixed.onnx", "m.onnx"]


def test_an_output_that_a_transposition_gave_keeps_its_name(tmp_path: Path) -> None:
    turned = [("Transpose", "a", "b"), ("Transpose", "b", "y")]
    nodes = [node(op, [x], [y], perm=[1, 0]) for op, x, y in turned]
    (only,) = fixed(of(tmp_path, node("Relu", ["x"], ["a"]), *nodes)).graph.node
    assert (only.op_type, list(only.output)) == ("Relu", ["y"])


def test_an_input_that_is_given_back_is_not_renamed(tmp_path: Path) -> None:
    turned = [("x", "b"), ("b", "y")]
    path = of(tmp_path, *(node("Transpose", [x], [y], perm=[1, 0]) for x, y in turned))
    assert run(["lint", str(path), "--fix", *ALL]) in (0, 1)
    assert not path.with_name("m.fixed.onnx").exists()


@pytest.mark.parametrize(
    "graph",
    [
        "(float[2,8] y, double[2,1,8] z) {a = Cast<to=11>(x) y = Relu(x) b = Cast<to=1>(a)"
        " c = Cast<to=11>(b) d = Cast<to=1>(c) e = Unsqueeze(d, one) z = Cast<to=11>(e)}",
        "(float[8,2] y, double[8,2] z) {a = Transpose<perm=[1,0]>(x) b = Relu(a)"
        " c = Transpose<perm=[1,0]>(b) d = Transpose<perm=[1,0]>(c) y = Cast<to=1>(d)"
        " e = Transpose<perm=[1,0]>(c) z = Cast<to=11>(e)}",
        "(double[2,8] y, double[2,8] z) {a = Transpose<perm=[1,0]>(x)"
        " b = Transpose<perm=[1,0]>(a) c = Cast<to=11>(b) d = Cast<to=1>(c)"
        " y = Cast<to=11>(d) z = Mul(c, two)}",
        "(double[8,2] y, float[2,8] z) {a = Transpose<perm=[1,0]>(x)"
        " b = Transpose<perm=[1,0]>(a) c = Transpose<perm=[1,0]>(b)"
        " d = Transpose<perm=[1,0]>(c) y = Cast<to=11>(c) e = Transpose<perm=[1,0]>(d)"
        " f = Transpose<perm=[1,0]>(e) z = Relu(f)}",
    ],
)
def test_fixes_that_share_a_value_take_turns_without_names_too(tmp_path: Path, graph: str) -> None:
    head, _, body = f"(float[2,8] x) => {graph}".partition(" {")
    weights = " <int64[1] one = {1}, double two = {2}> {"
    text = f'<ir_version: 10, opset_import: ["": 21]> g {head}{weights}{body}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    onnx.checker.check_model(fixed(tmp_path / "m.onnx", "--ignore", "PF106,PF108,PF407"))


def test_what_a_subgraph_reads_is_rewired_there_too(tmp_path: Path) -> None:
    made = onnx.helper.make_tensor_value_info
    inner = onnx.helper.make_graph([node("Neg", ["b"], ["t"])], "then", [], [made("t", F32, None)])
    other = onnx.helper.make_graph([node("Abs", ["b"], ["e"])], "else", [], [made("e", F32, None)])
    path = of(
        tmp_path,
        node("Transpose", ["x"], ["turned"], perm=[1, 0]),
        node("Transpose", ["turned"], ["b"], perm=[1, 0]),
        node("ReduceMax", ["x"], ["top"], keepdims=0),
        node("Cast", ["top"], ["flag"], to=onnx.TensorProto.BOOL),
        node("If", ["flag"], ["y"], then_branch=inner, else_branch=other),
    )
    nodes = fixed(path, "--select", "PF101").graph.node
    assert [n.op_type for n in nodes] == ["ReduceMax", "Cast", "If"]


def test_weights_beside_the_model_stay_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    path = folder / "m.onnx"
    onnx.save_model(
        blemished(), path, save_as_external_data=True, location="w.bin", size_threshold=1024
    )
    assert run(["lint", str(path), "--fix", "-o", str(tmp_path / "n.onnx"), *ALL]) == 2
    assert run(["lint", str(path), "--fix", *ALL]) == 0
    again = onnx.load(folder / "m.fixed.onnx")
    stored = {t.name: numpy_helper.to_array(t) for t in again.graph.initializer}
    before = {t.name: numpy_helper.to_array(t) for t in blemished().graph.initializer}
    assert np.array_equal(stored["w"], before["w"])


def test_missing_weights_give_one_line_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(
        blemished(), path, save_as_external_data=True, location="w.bin", size_threshold=1024
    )
    (tmp_path / "w.bin").unlink()
    assert run(["lint", str(path), "--fix", *ALL]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
