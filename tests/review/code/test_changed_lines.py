"""The changed line that a node comes from is found by its call stack and by names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from perfc.frontend.reading.module_name import NamedModule
from perfc.review.code.changed_lines import ChangedLines, CodeChange, Relation, code_change
from perfc.review.code.model import CodeModel
from perfc.review.code.neutral import units

from .test_code_models import git

NET = """\
import torch.nn as nn
from .sizes import WIDTH

class Block(nn.Module):
    def __init__(self, c, kernel=3):
        super().__init__()
        self.conv = nn.Conv2d(c, c, kernel)

    def forward(self, x):
        return self.conv(x)

class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.layer1 = nn.Sequential(
            Block(width),
            Block(width),
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.layer1(x)
        return self.head(x)
"""
SIZES = "DEPTH = 2\nWIDTH = 16\n"
CONV = ["pkg/net.py:16", "pkg/net.py:7", "pkg/net.py:22", "pkg/net.py:10"]
"""Lines that construct and that call the convolution of the first block, outermost first."""
HEAD = ["pkg/net.py:19", "pkg/net.py:23"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("__init__", ""), ("net", NET), ("sizes", SIZES), ("other", "A = 1\n")):
        (tmp_path / "pkg").mkdir(exist_ok=True)
        (tmp_path / f"pkg/{name}.py").write_text(text)
    (tmp_path / "net.yaml").write_text("width: 16\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        git(tmp_path, *words)
    return tmp_path


def changed(project: Path, file: str, old: str, new: str) -> CodeChange:
    path = project / file
    path.write_text(path.read_text().replace(old, new, 1))
    module = NamedModule("pkg.net:Net", folder=str(project))
    made = code_change(CodeModel(module, "HEAD"), CodeModel(module))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("file", "old", "new", "frames", "place"),
    [
        ("pkg/net.py", "c, c, kernel)", "c, c, kernel, 2)", CONV, "pkg/net.py:7"),
        (
            "pkg/net.py",
            "            Block(width),",
            "            Block(width, 5),",
            CONV,
            "pkg/net.py:16",
        ),
        ("pkg/net.py", "width=WIDTH", "width=64", HEAD, "pkg/net.py:13"),
        ("pkg/net.py", "kernel=3", "kernel=5", CONV, "pkg/net.py:5"),
        ("pkg/net.py", "self.head(x)", "self.head(x.relu())", HEAD, "pkg/net.py:23"),
        ("pkg/sizes.py", "WIDTH = 16", "WIDTH = 48", CONV, "pkg/sizes.py:2"),
        ("net.yaml", "16", "48", CONV, "net.yaml:1"),
    ],
)
def test_the_changed_line_is_named(
    project: Path, file: str, old: str, new: str, frames: list[str], place: str
) -> None:
    assert changed(project, file, old, new).nearest(frames) == place


def test_of_two_changes_each_node_has_its_nearest(project: Path) -> None:
    changed(project, "pkg/net.py", "nn.Linear(width, 10)", "nn.Linear(width, 100)")
    change = changed(project, "pkg/net.py", "kernel=3", "kernel=5")
    assert change.nearest(CONV) == "pkg/net.py:5"
    assert change.nearest(HEAD) == "pkg/net.py:19"


def test_a_change_that_the_model_does_not_import_is_the_last_choice(project: Path) -> None:
    changed(project, "pkg/other.py", "A = 1", "A = 2")
    change = changed(project, "pkg/sizes.py", "DEPTH = 2", "DEPTH = 3")
    assert change.nearest(CONV) == "pkg/sizes.py:1"


def test_without_a_change_no_line_is_named(project: Path) -> None:
    assert changed(project, "net.yaml", "16", "16").nearest(CONV) == ""


def test_files_of_a_model_have_no_code(project: Path) -> None:
    assert code_change("a.onnx", "b.onnx") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class Net", "# a network\nclass Net"),
        ("class Net", "def unused():\n    return 2\n\nclass Net"),
        (
            "    def forward(self, x):\n        x =",
            "    def forward(self, x):\n        # one by one\n        x =",
        ),
        ("class Net(nn.Module):\n", 'class Net(nn.Module):\n    """A network."""\n\n'),
        (
            "def __init__(self, c, kernel=3):",
            "def __init__(self, c: int, kernel: int = 3) -> None:",
        ),
    ],
)
def test_lines_that_compute_the_same_are_no_change(project: Path, old: str, new: str) -> None:
    assert changed(project, "pkg/net.py", old, new).nearest(CONV) == ""


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("self.layer1(x)", "self.layer1(x) * 2", "pkg/net.py:22"),
        (
            "        super().__init__()\n        self.conv",
            "        super().__init__()\n        c *= 2\n        self.conv",
            "pkg/net.py:7",
        ),
    ],
)
def test_what_computes_something_else_is_named_among_comments(
    project: Path, old: str, new: str, place: str
) -> None:
    path = project / "pkg/net.py"
    path.write_text(path.read_text().replace("    def forward", "    # forward\n\n    def forward"))
    number = int(place.partition(":")[2])
    shift = 2 * (number > 8) + 2 * (number > 20)
    assert changed(project, "pkg/net.py", old, new).nearest(CONV) == f"pkg/net.py:{number + shift}"


@pytest.mark.parametrize(("other", "is_same"), [("z", True), ("x", False), ("len", True)])
def test_names_of_variables_do_not_matter(other: str, is_same: bool) -> None:
    texts = [f"def f(x):\n    {v} = x + 1\n    return {v} * x\n" for v in ("y", other)]
    first, second = (next(iter(units(ast.parse(t).body, "f")))[2] for t in texts)
    assert (first == second) == is_same


def test_a_new_function_named_as_a_variable_of_another_source_is_no_change(project: Path) -> None:
    new = "DEPTH = 2\n\n\ndef width(c):\n    return c\n\n"
    assert changed(project, "pkg/sizes.py", "DEPTH = 2\n", new).nearest(CONV) == ""


@pytest.mark.parametrize(
    ("line", "relation"),
    [
        (14, Relation.FUNCTION),
        (15, Relation.STATEMENT),
        (18, Relation.STATEMENT),
        (19, Relation.FUNCTION),
        (22, Relation.FILE),
    ],
)
def test_a_statement_reaches_from_its_first_to_its_last_line(
    project: Path, line: int, relation: Relation
) -> None:
    change = changed(project, "pkg/net.py", "kernel=3", "kernel=5")
    hunk = ChangedLines("pkg/net.py", (line, line), (line, line))
    assert change.relation(hunk, [("pkg/net.py", 16)]) == relation
