"""Edits that cost time and little of it: a check fails, names the operator, and says how surely."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import perfc
from perfc import cli

BUDGET = """
[[budget]]
model = "m.onnx"
target = "a100"
time = { fail = "+0%" }
"""


def convolution(size: int, channels: int, filters: int, side: int, **more: int) -> bytes:
    """A convolution of 32 images, padded to keep their extent."""
    groups, stride = more.get("groups", 1), more.get("stride", 1)
    w = np.zeros((filters, channels // groups, size, size), np.float32)
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        name="edited",
        kernel_shape=[size] * 2,
        pads=[size // 2] * 4,
        strides=[stride] * 2,
        group=groups,
    )
    x = helper.make_tensor_value_info("x", 1, [32, channels, side, side])
    y = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(w, "w")])
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return onnx.ModelProto.SerializeToString(model)


def committed(folder: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=folder)


@pytest.mark.parametrize(
    ("channels", "filters", "side", "more"),
    [(64, 256, 64, {"groups": 4}), (3, 24, 224, {"stride": 2}), (32, 24, 112, {"stride": 2})],
    ids=["grouped", "stem", "narrow"],
)
def test_a_larger_window_fails_on_time(
    channels: int,
    filters: int,
    side: int,
    more: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("perfc.toml").write_text(BUDGET)
    Path("m.onnx").write_bytes(convolution(3, channels, filters, side, **more))
    assert cli.run(["check", "--write-baseline"]) == 0
    committed(tmp_path)
    Path("m.onnx").write_bytes(convolution(5, channels, filters, side, **more))
    capsys.readouterr()
    code = cli.run(["check", "--output-format", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    (finding,) = result["findings"]
    assert (code, finding["outcome"], finding["metric"]) == (1, "fail", "time")
    assert "from edited (" in result["why"]
    if finding["change_low"] <= 0:
        assert "90 % of such changes are above +" in finding["message"]
    Path("m.onnx").write_bytes(convolution(3, channels, filters, side, **more))
    assert cli.run(["check"]) == 0


def product(rows: int, columns: int) -> bytes:
    """A product of ``rows`` x 512 and 512 x ``columns``."""
    w = numpy_helper.from_array(np.zeros((512, columns), np.float32), "w")
    x = helper.make_tensor_value_info("x", 1, [rows, 512])
    y = helper.make_tensor_value_info("y", 1, [rows, columns])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return onnx.ModelProto.SerializeToString(model)


def test_every_output_has_the_time_that_analyze_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("perfc.toml").write_text(BUDGET)
    Path("m.onnx").write_bytes(product(512, 512))
    assert cli.run(["check", "--write-baseline"]) == 0
    committed(tmp_path)
    Path("m.onnx").write_bytes(product(2048, 2048))
    time = perfc.analyze(Path("m.onnx"), "a100").prediction.total.time_s
    capsys.readouterr()
    assert cli.run(["check", "--output-format", "json", "-o", "check.json"]) == 1
    (result,) = json.loads(Path("check.json").read_text())["results"]
    (finding,) = result["findings"]
    shown = next(f for f in result["figures"] if f["metric"] == "time")
    assert finding["value"] == shown["value"] == time
    delta = finding["value"] - finding["baseline"]
    assert finding["change_low"] <= 1.0001 * delta <= finding["change_high"], "six digits"
    arrow = re.findall(r"-> .*?, \+", finding["message"])[0]
    printed = arrow[3:-3]
    for form in ("text", "csv", "markdown", "sarif", "github", "gitlab", "junit"):
        capsys.readouterr()
        assert cli.run(["check", "--output-format", form]) == 1
        said = " ".join(capsys.readouterr().out.split()).replace("-&gt;", "->")
        assert arrow in said or json.dumps(arrow)[1:-1] in said, form
    assert cli.run(["check", "--comment", "check.json", "--policy", "always"]) == 0
    assert f"{printed} |" in capsys.readouterr().out
    assert cli.run(["diff", "m.onnx", "--output-format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    total = next(t for t in tree["totals"] if t["metric"] == "time")
    assert total["new"] == time
    fixed_s = tree["fixed_s_new"] - tree["fixed_s_old"] + tree["factor_s"]
    assert tree["blame"][0]["time_s"] + fixed_s == pytest.approx(total["delta"])
    assert cli.run(["check", "--write-baseline", "m.onnx"]) == 0
    assert f"time_s = {time:.6g}" in Path("perfc.lock").read_text()
