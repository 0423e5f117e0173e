"""Edits that cost time and little of it: a check fails, names the operator, and says how surely."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

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
        "Conv", ["x", "w"], ["y"], name="edited", kernel_shape=[size] * 2, pads=[size // 2] * 4,
        strides=[stride] * 2, group=groups,
    )  # fmt: skip
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
    assert cli.run(["baseline", "write"]) == 0
    committed(tmp_path)
    Path("m.onnx").write_bytes(convolution(5, channels, filters, side, **more))
    capsys.readouterr()
    code = cli.run(["check", "--output-format", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    (finding,) = result["findings"]
    assert (code, finding["outcome"], finding["metric"]) == (1, "fail", "time")
    assert "from edited (" in result["why"]
    if finding["change_low"] <= 0:
        assert "nine in ten such changes are above +" in finding["message"]
    Path("m.onnx").write_bytes(convolution(3, channels, filters, side, **more))
    assert cli.run(["check"]) == 0
