"""What commands print of one thing is singular, and shares are written in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfc import cli

from .invocations import CALLS, prepare

TOLD = (
    "analyze",
    "check",
    "diff",
    "explain",
    "lint",
    "measure",
    "roofline",
    "sweep",
    "trace",
)
MORE = (
    "check --write-baseline",
    "trace report.csv",
    "analyze model.onnx --target cpu --all-views",
    "analyze model.onnx --dtype f16 --runtime eager --all-views",
    "explain model.onnx product",
    "explain model.onnx product --dtype f16",
    "sweep model.onnx --dim n=1:1",
    "lint constant.onnx --extend-select ALL",
    "lint model.onnx --select ALL --dim n=7",
)


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path = tmp_path_factory.mktemp("words")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        prepare(path)
        constant(path / "constant.onnx")
        yield


def constant(path: Path) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])
    weight = numpy_helper.from_array(np.ones((4, 8), np.float32), "w")
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"], name="product"),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    opsets = [helper.make_opsetid("", 18)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("line", [*(f"{n} {CALLS[n]}" for n in TOLD), *MORE])
def test_one_is_singular_and_shares_look_alike(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.startswith("measure"):
        pytest.importorskip("onnxruntime")
    capsys.readouterr()
    assert cli.run(line.split()) in (0, 1)
    told = capsys.readouterr().out
    if "constant" in line:
        assert "1 node (Transpose) computes the same" in told
    counted = r"rows|kernels|nodes|points|runs|entries|threads|findings|launches|models|files"
    assert not re.search(rf"(?<![\d.,/-])1 (?:{counted})\b", told), told
    assert not re.search(r"1 node \(\w+\) compute the", told)
    assert not re.search(r"\d%", told), told
    assert not re.search(r"\d MB\b", told)
