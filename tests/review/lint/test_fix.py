"""A fix is written whole, proved equal, and never where nobody asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from perfc.api import typed
from perfc.cli import run
from perfc.ir import DType, Node, Op, TensorType, Value
from perfc.review.lint.fixes.edit import (
    FixError,
    ReadInstead,
    Remove,
    Rewire,
    Store,
    Unname,
    Unstore,
    touched,
)
from perfc.review.lint.fixes.fix import fixed_model
from perfc.review.lint.fixes.proof import RUNS, prove
from tests.review.lint.models import F32, blemished, model, node

FIXED = {"PF101", "PF102", "PF103", "PF104", "PF105", "PF303", "PF404"}
ALL = ["--min-gain", "0", "--isolated", "--ignore", "PF106,PF108,PF407"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(blemished(), path)
    return path


def work(select: tuple[str, ...] = ()) -> object:
    from perfc.deployment import Deployment
    from perfc.review.lint.engine import Linter, selected
    from perfc.review.lint.settings import Settings
    from perfc.review.lint.work import LintWork

    settings = Settings()
    linter = Linter(settings, selected(settings, select), 0.0)
    return LintWork(linter, Deployment(), {})


def test_everything_fixable_is_mended_proved_and_gains(file: Path) -> None:
    result = fixed_model(work(), str(file))  # type: ignore[arg-type]
    assert result is not None
    assert {f.code for f in result.fixed} == FIXED
    assert result.runs == RUNS == 5
    assert result.gain_s > 0
    assert not any(f.is_fixable for f in result.after.findings)
    ops = [n.op_type for n in result.model.graph.node]
    assert ops == ["Conv", "Relu", "Mul", "MaxPool", "Div"]
    onnx.checker.check_model(result.model, full_check=True)


def test_what_is_not_mended_stays_as_it_was(file: Path) -> None:
    result = fixed_model(work(("PF101",)), str(file))  # type: ignore[arg-type]
    assert result is not None
    assert [p.value for p in result.model.metadata_props] == ["somebody"]
    conv = next(n for n in result.model.graph.node if n.op_type == "Conv")
    assert [p.value for p in conv.metadata_props] == ["stem"]
    assert "left_behind" in {t.name for t in result.model.graph.initializer}
    assert "dead" in {n.name for n in result.model.graph.node}
    before = onnx.load(file)
    assert result.model.graph.input == before.graph.input
    assert result.model.graph.output == before.graph.output


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
    m = model(
        [
            node("Relu", ["x"], ["a"]),
            node("Transpose", ["a"], ["b"], perm=[1, 0]),
            node("Transpose", ["b"], ["y"], perm=[1, 0]),
        ],
        {"x": ["n", 8]},
        {"y": ["n", 8]},
    )
    path = tmp_path / "m.onnx"
    onnx.save(m, path)
    result = fixed_model(work(), str(path))  # type: ignore[arg-type]
    assert result is not None
    (only,) = result.model.graph.node
    assert (only.op_type, list(only.output)) == ("Relu", ["y"])


def test_an_input_that_is_given_back_is_not_renamed(tmp_path: Path) -> None:
    m = model(
        [
            node("Transpose", ["x"], ["b"], perm=[1, 0]),
            node("Transpose", ["b"], ["y"], perm=[1, 0]),
        ],
        {"x": ["n", 8]},
        {"y": ["n", 8]},
    )
    path = tmp_path / "m.onnx"
    onnx.save(m, path)
    assert fixed_model(work(), str(path)) is None  # type: ignore[arg-type]


def test_what_a_subgraph_reads_is_rewired_there_too(tmp_path: Path) -> None:
    made = onnx.helper.make_tensor_value_info
    inner = onnx.helper.make_graph([node("Neg", ["b"], ["t"])], "then", [], [made("t", F32, None)])
    other = onnx.helper.make_graph([node("Abs", ["b"], ["e"])], "else", [], [made("e", F32, None)])
    m = model(
        [
            node("Transpose", ["x"], ["turned"], perm=[1, 0]),
            node("Transpose", ["turned"], ["b"], perm=[1, 0]),
            node("ReduceMax", ["x"], ["top"], keepdims=0),
            node("Cast", ["top"], ["flag"], to=onnx.TensorProto.BOOL),
            node("If", ["flag"], ["y"], then_branch=inner, else_branch=other),
        ],
        {"x": ["n", 8]},
        {"y": ["n", 8]},
    )
    path = tmp_path / "m.onnx"
    onnx.save(m, path)
    result = fixed_model(work(("PF101",)), str(path))  # type: ignore[arg-type]
    assert result is not None
    assert [n.op_type for n in result.model.graph.node] == ["ReduceMax", "Cast", "If"]


def test_a_model_that_differs_is_not_proved(file: Path) -> None:
    other = blemished()
    for tensor in other.graph.initializer:
        if tensor.name == "two":
            tensor.CopyFrom(numpy_helper.from_array(np.float32(2.0000002).reshape(()), "two"))
    before, after = blemished().SerializeToString(), other.SerializeToString()
    with pytest.raises(FixError, match="differs in output 'y'"):
        prove(before, after, typed(file), file.parent)


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


def test_an_edit_touches_results_and_inputs() -> None:
    x, y, z = (Value(name, TensorType(DType.F32, (1,))) for name in "xyz")
    reader = Node(Op(), (x,), (z,))
    assert touched(Rewire(reader, (y, None))) == {"y", "z"}
    assert touched(ReadInstead(x, y)) == {"x", "y"}
    assert touched(Remove(reader)) == touched(Unname(reader, 0)) == {"z"}
    assert touched(Unstore(x)) == {"x"}
    assert touched(Store((x, y))) == {"x", "y"}
