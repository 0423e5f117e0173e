"""Models that move, and projects with their budgets."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .projects import said

BUDGET = """\
[[budget]]
model = ["models/*.onnx", "models/*.onnx.gz", "nets/**/*.onnx"]
target = "a100"
flop = { warn = "+0%", fail = "+5%" }
parameters = { warn = "+0%", fail = "+5%" }
peak_memory = { warn = "+0%", fail = "+5%" }
time = { warn = "+0%", fail = "+5%" }
"""


def network(width: int = 32, depth: int = 3, seed: int = 0, prefix: str = "") -> onnx.ModelProto:
    """Return convolutions of a width and a classifier, with weights."""
    rng = np.random.default_rng(seed)
    p, nodes, weights, last, channels = prefix, [], [], "x", 3
    for i in range(depth):
        shape = (width, channels, 3, 3)
        weights.append(numpy_helper.from_array(rng.random(shape, np.float32), f"{p}w{i}"))
        nodes.append(
            helper.make_node("Conv", [last, f"{p}w{i}"], [f"{p}c{i}"], f"{p}conv{i}", pads=[1] * 4)
        )
        nodes.append(helper.make_node("Relu", [f"{p}c{i}"], [f"{p}r{i}"], f"{p}relu{i}"))
        last, channels = f"{p}r{i}", width
    weights.append(numpy_helper.from_array(rng.random((width, 10), np.float32), f"{p}fc"))
    nodes += [
        helper.make_node("GlobalAveragePool", [last], [f"{p}g"], f"{p}pool"),
        helper.make_node("Flatten", [f"{p}g"], [f"{p}f"], f"{p}flatten"),
        helper.make_node("MatMul", [f"{p}f", f"{p}fc"], ["y"], f"{p}head"),
    ]
    return whole(nodes, weights, [8, 3, 64, 64], [8, 10])


def whole(
    nodes: list[onnx.NodeProto], weights: list[TensorProto], x: list[int], y: list[int]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, x)],
        [helper.make_tensor_value_info("y", 1, y)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def dense(width: int) -> onnx.ModelProto:
    """Return three products and nothing else."""
    weights = [
        numpy_helper.from_array(np.ones((width, width), np.float32), f"w{i}") for i in range(3)
    ]
    nodes = [
        helper.make_node("MatMul", [f"a{i}" if i else "x", f"w{i}"], [f"a{i + 1}"])
        for i in range(2)
    ]
    nodes.append(helper.make_node("MatMul", ["a2", "w2"], ["y"]))
    return whole(nodes, weights, [8, width], [8, width])


def put(root: Path, name: str, model: onnx.ModelProto) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = model.SerializeToString()
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Return a committed project with a network and another that stays."""
    (tmp_path / "perfc.toml").write_text(BUDGET)
    (tmp_path / ".gitignore").write_text(".perfc_cache\n")
    put(tmp_path, "models/a.onnx", network())
    put(tmp_path, "models/stays.onnx", dense(64))
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "check", "--write-baseline")[0] == 0
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path
