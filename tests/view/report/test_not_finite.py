"""Figures that are no numbers, or too large for one, are unknown in every format."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import onnx
import pytest
from onnx import helper

from perfc.cli import run
from perfc.view.html.page import inert
from perfc.view.report.formats import comma
from perfc.view.report.formats.json_form import strict
from perfc.view.report.units import DASH, share

NO_NUMBER = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)
SCRIPT = re.compile(r"<script(?![^>]*json)[^>]*>.*?</script>", re.DOTALL)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_is_unknown(value: float) -> None:
    assert share(value) == DASH
    assert comma.records(["a", "b"], [[value, 1.0]]) == "a,b\n,1.0\n"
    assert json.loads(strict({"a": [value, 1.5]})) == {"a": [None, 1.5]}
    assert inert({"a": [value, "<"]}) == '{"a":[null,"\\u003c"]}'


def relu_of(path: Path, shape: list[int]) -> str:
    info = [helper.make_tensor_value_info(n, 1, shape) for n in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="r")], "g", info[:1], info[1:]
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return str(path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("suffix", ["html", "md", "csv", "json", "txt", "trace"])
def test_a_model_beyond_every_number_breaks_no_format(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = relu_of(tmp_path / "m.onnx", [1 << 62] * 16)
    page = tmp_path / f"r.{suffix}"
    form = ["--output-format", "trace"] if suffix == "trace" else []
    page = page.with_suffix(".json") if form else page
    code = run(["analyze", model, "-o", str(page), *form])
    told = capsys.readouterr().err.splitlines()
    assert "bug" not in "".join(told)
    if code:
        assert (code, len(told), page.exists()) == (2, 1, False)
    else:
        assert not NO_NUMBER.search(SCRIPT.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("scale", [0.0, -2.0, math.nan, math.inf])
@pytest.mark.parametrize(("op", "opset"), [("Resize", 17), ("Upsample", 9)])
def test_a_scale_that_is_none_is_an_error(
    op: str, opset: int, scale: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    info = helper.make_tensor_value_info
    scales = helper.make_tensor("s", 1, [4], [1.0, 1.0, 2.0, scale])
    inputs = ["x", "", "s"] if op == "Resize" else ["x", "s"]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], name="r")],
        "g",
        [info("x", 1, ["n", 3, 8, 8])],
        [info("y", 1, None)],
        [scales],
    )
    opsets = [helper.make_opsetid("", opset)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    assert run(["analyze", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{op}: a scale of {scale:g}" in line
