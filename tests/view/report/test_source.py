"""Lines of code have the kernels that they construct and call; only sources here are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from perfc import cli
from tests.frontend.test_placement import export

from .conftest import MODELS

WAYS = ["-t", "t4", "--predictor", "kernels"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_a_line_has_the_time_and_traffic_of_its_kernels(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("net.py").write_text("\n" * 9 + "    x = self.layer1(x)\n")
    Path("m.onnx").write_bytes(export())
    assert cli.run(["analyze", "m.onnx", *WAYS, "--output-format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["kernels"]
    called = [r for r in rows if r["frames"]]
    assert {f for r in called for f in r["frames"]} == {"net.py:10", "parts/block.py:5"}
    time_us = 1e6 * sum(r["predicted"]["time_s"] for r in called)
    moved = sum(r[k]["value"] for r in called for k in ("read_bytes", "write_bytes"))
    share = 100 * sum(r["predicted"]["share"] for r in called)
    assert cli.run(["analyze", "m.onnx", *WAYS, "--view", "source"]) == 0
    *_, first, second = capsys.readouterr().out.rstrip().splitlines()
    assert first.endswith("    x = self.layer1(x)")
    for line in (first, second):
        assert f"{share:.1f} " in line
        assert f" {time_us:.3g} " in f"{line.replace(' µs', '')} "
        assert f" {moved / 1024:.3g} " in line or f" {moved} " in line
        assert f" {len(called)} " in line
    assert cli.run(["analyze", "m.onnx", *WAYS, "--output-format", "html"]) == 0
    assert "net.py:10\\nparts/block.py:5" in capsys.readouterr().out


def test_a_model_without_lines_says_what_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "resnet50.onnx.gz")
    assert cli.run(["analyze", model, "--no-predict", "--view", "source"]) == 0
    assert "no line of code is known: give a module by name" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["../outside.py", "notes.txt", "link.py", "pipe.py", "large.py"],
)
def test_other_files_are_not_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("../outside.py", "notes.txt"):
        Path(file).write_text("secret = 1\n")
    Path("link.py").symlink_to("../outside.py")
    os.mkfifo("pipe.py")
    Path("large.py").write_text("secret = 1\n" + " " * (1 << 22))
    Path("read.py").write_text("known = 1\n")
    node = helper.make_node("Relu", ["x"], ["y"], "/act/Relu")
    node.doc_string = f"{name}(1): relu\nread.py(1): f\n"
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
    onnx.save(helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:])), "m.onnx")
    assert cli.run(["analyze", "m.onnx", "--view", "source"]) == 0
    out = capsys.readouterr().out
    assert "known = 1" in out
    assert name.rpartition("/")[2] in out
    assert "secret" not in out
