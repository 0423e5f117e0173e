"""A file of a model, exported with call stacks, is traced to the changed lines of its commit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from perfc.review.code.changed_lines import CodeChange, code_change
from perfc.review.code.stack_files import files_of_frames, with_imports

from ..check.projects import said
from .test_code_models import git

CONFIG = """\
class Config:
    hidden = 64
    inner = 128
    layers = 2
"""
PART = """\
import torch


class Mlp(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = torch.nn.Linear(config.hidden, config.inner)
        assert config.layers
        self.down = torch.nn.Linear(config.inner, config.hidden)

    def forward(self, x):
        y = torch.relu(self.up(x))
        return self.down(y)
"""
MODEL = """\
import torch

from .config import Config
from .part import Mlp


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        config = Config()
        self.parts = torch.nn.ModuleList(Mlp(config) for _ in range(config.layers))

    def forward(self, x):
        for part in self.parts:
            x = x + part(x)
        return x
"""
EXPORT = """\
import torch
from tiny.model import Net

net = Net().eval()
torch.onnx.export(net, (torch.ones(4, 64),), "models/net.onnx", dynamo=True, verbose=False)
"""
UP, DOWN = (
    [f"/home/ci/work/tiny/{place}" for place in ("model.py:14", f"part.py:{line}")]
    for line in (12, 13)
)
"""Stacks of both products, as another machine wrote them."""
BUDGETS = '[[budget]]\nmodel = "models/*.onnx"\ntarget = "a100"\nflop = { fail = "+5%" }\n'
FILES = {
    "tiny/__init__.py": "",
    "tiny/config.py": CONFIG,
    "tiny/part.py": PART,
    "tiny/model.py": MODEL,
    "tiny/sizes.json": '{"hidden": 64}\n',
    "other.py": "A = 1\n",
    "export.py": EXPORT,
    "perfc.toml": BUDGETS,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    Path("models").mkdir()
    git(tmp_path, "init", "-q")
    return tmp_path


def committed(project: Path) -> None:
    git(project, "add", ".")
    git(project, "commit", "-qm", "a change")


def write_model(inner: int) -> None:
    """Write what the exporter writes of one part, on a machine with other folders."""
    weights = [
        numpy_helper.from_array(np.ones(shape, np.float32), name)
        for name, shape in (("up", (64, inner)), ("down", (inner, 64)))
    ]
    nodes = []
    for (name, source, to), frames in (("up", "x", "h"), UP), (("down", "h", "y"), DOWN):
        node = helper.make_node("MatMul", [source, name], [to], name=name)
        stack = "".join(f'File "{f}", line {n}, in f\n' for f, n in (x.split(":") for x in frames))
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=stack)
        nodes.append(node)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 64]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    opsets = [helper.make_opsetid("", 18)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), "models/net.onnx")


def lines_named(capsys: pytest.CaptureFixture[str], base: str = "HEAD~1") -> list[str]:
    """Places that a check against a base names, the cause of the limit first."""
    code, out, err = said(capsys, "check", "--base", base, "--output-format", "github")
    assert code == 1, err
    return [f"{f}:{n}" for f, n in re.findall(r"file=([^,]*),line=(\d+)", out)]


def change(revision: str = "HEAD") -> CodeChange | None:
    return code_change(f"{revision}:models/net.onnx", "models/net.onnx", (*UP, *DOWN))


@pytest.mark.parametrize(
    ("file", "old", "new", "frames", "place"),
    [
        ("tiny/config.py", "inner = 128", "inner = 512", UP, "tiny/config.py:3"),
        ("tiny/part.py", "config.inner", "512", UP, "tiny/part.py:7"),
        ("tiny/part.py", "config.inner", "512", DOWN, "tiny/part.py:9"),
        ("tiny/part.py", "torch.relu(self.up(x))", "self.up(x)", UP, "tiny/part.py:12"),
        ("tiny/model.py", "config = Config()", "config = Config(512)", UP, "tiny/model.py:10"),
        ("tiny/sizes.json", "64", "512", UP, "tiny/sizes.json:1"),
    ],
)
def test_the_changed_line_of_the_sources_is_named(
    project: Path, file: str, old: str, new: str, frames: list[str], place: str
) -> None:
    committed(project)
    Path(file).write_text(FILES[file].replace(old, new))
    made = change()
    assert made is not None
    assert made.nearest(frames) == place
    committed(project)
    assert change() is None
    made = change("HEAD~1")
    assert made is not None
    assert made.nearest(frames) == place


def test_changes_that_the_model_is_not_made_of_are_none(project: Path) -> None:
    committed(project)
    Path("other.py").write_text("A = 2\n")
    Path("perfc.toml").write_text(BUDGETS.replace("5", "6"))
    Path("tiny/config.py").write_text(f"# sizes\n{CONFIG}")
    assert change() is None


@pytest.mark.parametrize(
    "frames", ["", "/", "..", "/etc/\0", "tiny/" * 2000, "C:\\x\\tiny", "tiny"]
)
def test_what_a_stack_names_outside_of_the_repository_is_not_read(
    frames: str, project: Path
) -> None:
    secret = project.parent / f"secret of {project.name}.py"
    secret.write_text("PASSWORD = 1\n")
    for name, to in ("part", secret), ("config", "/dev/zero"):
        Path(f"tiny/{name}.py").unlink()
        Path(f"tiny/{name}.py").symlink_to(to)
    stacks = [f"{frames}/{name}.py:1" for name in ("part", "config", "model", secret.stem)]
    places = files_of_frames([*stacks, f"{secret}:1"], project)
    assert {*places.values()} <= {"tiny/model.py"}
    assert {*with_imports(places, project)} <= {"tiny/model.py", "tiny/__init__.py"}


def test_a_check_names_the_line_of_the_same_commit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(128)
    committed(project)
    write_model(512)
    Path("tiny/config.py").write_text(CONFIG.replace("128", "512"))
    committed(project)
    assert lines_named(capsys)[0] == "tiny/config.py:3"
    # without a change of the sources it is the model itself
    git(project, "checkout", "-q", "HEAD~1", "tiny")
    committed(project)
    assert lines_named(capsys, "HEAD~2")[0] == "models/net.onnx:1"


def test_the_last_line_of_a_statement_is_nearer_than_the_rest_of_its_function(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "Linear(config.hidden, config.inner)"
    new = f"Linear(\n{' ' * 12}config.hidden,\n{' ' * 12}config.inner)"
    # as many lines as before: the stack of the model names the twelfth
    text = PART.replace("\n\n\nclass", "\nclass").replace(old, new)
    Path("tiny/part.py").write_text(text)
    write_model(128)
    committed(project)
    write_model(512)
    text = text.replace("super()", "super(Mlp, self)").replace("config.inner)", "512)", 1)
    Path("tiny/part.py").write_text(text)
    committed(project)
    assert lines_named(capsys)[0] == "tiny/part.py:7"


def test_a_change_of_the_configuration_of_an_export_of_torch_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    for inner in 128, 512:
        text = CONFIG.replace("inner = 128", f"inner = {inner}")
        Path("tiny/config.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "export.py"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        committed(project)
    assert lines_named(capsys)[0] == "tiny/config.py:3"
