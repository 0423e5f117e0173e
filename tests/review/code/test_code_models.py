"""PyTorch modules under budgets: [[models]], the sources they are made of, and earlier revisions.

Exports are replaced by a network as wide as a source file says, so that no PyTorch is needed.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perfc import api

from ..check.projects import models, said

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "tests" / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
PAGE = (ROOT / "docs" / "vscode.md").read_text(encoding="utf-8")
TASKS = json.loads(PAGE.partition("```json\n")[2].partition("```")[0])["tasks"]
EXPORTS = "perfc.review.code.model._EXPORTS"
"""Exports that a process keeps."""
TABLE = """\
[[models]]
source = "mypkg.model:Net"
input = "8x3x16x16"
batch = [1, 8]
"""
FILES = {
    "mypkg/__init__.py": "",
    "mypkg/model.py": "from .layers import width\nimport numpy\n",
    "mypkg/layers.py": "def width():\n    from . import sizes\n",
    "mypkg/sizes.py": "WIDTH = 16\n",
    "mypkg/other.py": "import mypkg.model\n",
    "perfc.toml": TABLE,
}


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a committed project, whose module is exported by a substitute."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text(".perfc_cache\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")

    def exported(module: Any, _dims: object) -> bytes:
        text = Path(module.folder, "mypkg/sizes.py").read_text()
        message = models.convolutional(int(text.split()[-1]))
        for v in (*message.graph.input, *message.graph.output):
            v.type.tensor_type.shape.dim[0].dim_param = "batch"
        # an export in another format than archives of PyTorch
        return b'{"is_relax": true}\n' + message.SerializeToString()

    monkeypatch.setattr("perfc.frontend.pytorch.named.exported", exported)
    monkeypatch.setattr(EXPORTS, {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_analyzed_again(capsys: pytest.CaptureFixture[str]) -> bool:
    """True if a check finds other sources than the last one; the export is the same."""
    code, out, _ = said(capsys, "check")
    assert code == 0
    return "0 analyzed" not in out


def test_sources_are_reached_by_imports_even_within_functions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert is_analyzed_again(capsys)
    for name, text, is_source in (
        ("mypkg/other.py", "import torch\n", False),
        ("mypkg/layers.py", "def width():\n    from . import sizes, model\n", True),
        ("mypkg/__init__.py", "A = 1\n", True),
        ("mypkg/sizes.py", "# wide\nWIDTH = 16\n", True),
        ("mypkg/sizes.json", "{}", True),
        ("mypkg/layers.py", "def (\n", True),
    ):
        (project / name).write_text(text)
        assert is_analyzed_again(capsys) is is_source, name
        assert not is_analyzed_again(capsys)


def test_packages_below_src_are_sources(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src").mkdir()
    for path in (project / "mypkg").iterdir():
        (project / "src/mypkg").mkdir(exist_ok=True)
        (project / "src/mypkg" / path.name).write_text(path.read_text())
    for path in (project / "mypkg").glob("[!s]*.py"):
        path.unlink()
    assert is_analyzed_again(capsys)
    (project / "src/mypkg/layers.py").write_text("")
    assert is_analyzed_again(capsys)


def test_a_table_has_one_budget_per_combination_of_its_lists(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TABLE + 'dtype = ["f32", "f16"]\nkwargs = { width = 4 }\nflop = { max = "1 flop" }\n'
    (project / "perfc.toml").write_text(text)
    code, out, _ = said(capsys, "check", "--output-format", "json")
    results = json.loads(out)["results"]
    settings = {r["setting"].partition("eager, ")[2] for r in results}
    assert code == 1
    assert settings == {f"{d}, batch={n}" for d in ("f32", "f16") for n in (1, 8)}
    assert [len(r["findings"]) for r in results] == [1] * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[models]]\nsource = "net.onnx"\n', "2: source names no PyTorch module"),
        ('[[models]]\nsource = "a:B"\nimput = 1\n', "3: no key 'imput' in a model .*mean input"),
        ('[[models]]\nsource = "a:B"\nkwargs = 3\n', "3: kwargs is not a table"),
        ('[[models]]\nsource = "a:B"\nbatch = []\n', "3: batch is an empty list"),
        ('[[models]]\nsource = "a:B"\ninput = 3\n', "3: input is not a shape or a list of them"),
        ('[models]\nsource = "a:B"\n', "models is not a list of tables"),
        (
            '[[models]]\nsource = "a:B"\n[[models]]\nsource = "a:B"\ninput = "1x3"\n',
            '4: a:B already has other inputs .*name = "large"',
        ),
        ('[[models]]\nsource = "a:B"\nname = "x y"\n', "3: name is not a word"),
    ],
)
def test_what_is_wrong_in_a_table_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (project / "perfc.toml").write_text(text)
    code, _, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1)
    assert re.search(message, err)


def test_a_check_compares_a_module_with_its_baseline_and_names_the_change(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "check", "--write-baseline")[:2] == (
        0,
        "perfc.lock: 2 entries, 2 new, 0 gone\n",
    )
    code_, out, _ = said(capsys, "check")
    assert (code_, "2 same; 0 analyzed" in out) == (0, True)
    (project / "mypkg/sizes.py").write_text("WIDTH = 48\n")
    code_, out, _ = said(capsys, "check", "--why")
    assert (code_, "mypkg/sizes.py:1: time " in out) == (1, True)
    assert git(project, "worktree", "list").count("\n") == 1


def test_the_changed_line_is_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    (project / "mypkg/sizes.py").write_text("# of the stem\n\nWIDTH = 48\n")
    code_, out, _ = said(capsys, "check", "--output-format", "github")
    problem = TASKS[1]["problemMatcher"][0]["pattern"]
    matches = [m for m in (re.match(problem["regexp"], line) for line in out.splitlines()) if m]
    assert (code_, len(matches)) == (1, out.count("\n"))
    assert {(m[2], m[3]) for m in matches} == {("mypkg/sizes.py", "3")}
    assert {m[1] for m in matches} == {"error", "warning", "notice"}
    log = json.loads(said(capsys, "check", "--output-format", "sarif")[1])
    jsonschema.validate(log, json.loads(SCHEMA.read_text(encoding="utf-8")))
    results = log["runs"][0]["results"]
    places = [r["locations"][0]["physicalLocation"] for r in results]
    assert {p["artifactLocation"]["uri"] for p in places} == {"mypkg/sizes.py"}
    assert {p["region"]["startLine"] for p in places} == {3}
    assert {r["level"] for r in results} == {"error", "warning", "note"}
    said(capsys, "check", "-o", "c.json")
    rows = [r["lines"] for r in json.loads((project / "c.json").read_text())["results"]]
    assert [row["source"] for (row,) in rows] == ["mypkg/sizes.py:3"] * 2
    text = said(capsys, "check", "--comment", "c.json")[1]
    header, _, *cells = text[text.index("| line |") :].split("\n\n")[0].splitlines()
    assert header == "| line | model | what changed | time | memory | nearest remedy |"
    assert len(cells) == 2
    assert all(c.startswith("| mypkg/sizes.py:3 | mypkg.model:Net | WIDTH = 48 — ") for c in cells)
    assert text.index("| line |") < text.index("<summary>figures</summary>")
    time = cells[0].split(" | ")[3]
    assert f"mypkg/sizes.py:3: time {time}, memory " in " ".join(said(capsys, "check")[1].split())


def test_both_sides_are_analyzed_where_there_is_no_baseline(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "branch", "base")
    code_, out, _ = said(capsys, "check", "--base", "base", "--strict")
    assert (code_, "2 same" in out, "against base" in out) == (0, True, True)
    (project / "mypkg/sizes.py").write_text("WIDTH = 48\n")
    git(project, "commit", "-qam", "two")
    code_, out, _ = said(capsys, "check", "--base", "base", "mypkg/sizes.py")
    assert (code_, "mypkg/sizes.py:1: time " in out) == (1, True)
    assert said(capsys, "check", "--base", "HEAD", "--strict")[0] == 0
    assert not (project / "perfc.lock").exists()
    assert git(project, "worktree", "list").count("\n") == 1


def test_nothing_is_analyzed_for_a_base_of_equal_sources(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "m.onnx").write_bytes(models.convolutional(8).SerializeToString())
    (project / "perfc.toml").write_text(TABLE + '[[budget]]\nmodel = "m.onnx"\ntarget = "a100"\n')
    git(project, "add", ".")
    git(project, "commit", "-qm", "two")
    (project / "mypkg/other.py").write_text("")  # no source of the module
    git(project, "commit", "-qam", "three")
    assert said(capsys, "check", "--base", "HEAD~1")[0] == 0
    analyzed: list[object] = []
    analysis = api.analyze

    def counted(model: object, **options: Any) -> Any:
        analyzed.append(model)
        return analysis(model, **options)

    monkeypatch.setattr(api, "analyze", counted)
    code_, out, _ = said(capsys, "check", "--base", "HEAD~1", "--strict")
    assert (code_, "3 same; 0 analyzed, 3 from the cache" in out, analyzed) == (0, True, [])
    said(capsys, "check", "--base", "HEAD~1", "--no-cache")
    assert len(analyzed) == 6
    # the base of other sources is analyzed once, and only the module that has them
    (project / "mypkg/sizes.py").write_text("WIDTH = 8\n")
    git(project, "commit", "-qam", "four")
    analyzed.clear()
    assert "1 same" in said(capsys, "check", "--base", "HEAD~2")[1]
    assert len(analyzed) == 2
    # a folder that the base lacks
    (project / "sub").mkdir()
    (project / "sub/perfc.toml").write_text(TABLE.replace("mypkg.model", "net"))
    (project / "sub/net.py").write_text("")
    (project / "sub/mypkg").symlink_to(project / "mypkg")
    code_, out, _ = said(capsys, "check", "--base", "HEAD", "--strict", "sub/net.py")
    assert (code_, "2 new" in out, "no folder sub in" in out) == (3, True, True)


def test_a_base_is_an_existing_revision_whose_code_may_run(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(capsys, "check", "--base", "HEAD")[0] == 0
    code_, _, err = said(capsys, "check", "--base", "absent")
    assert (code_, err) == (2, "error: git has no revision 'absent' here\n")
    assert said(capsys, "check", "--base", "HEAD", "--against", "HEAD")[0] == 2
    monkeypatch.setenv("PERFC_NO_CODE", "1")
    monkeypatch.setattr(EXPORTS, {})
    code_, _, err = said(capsys, "check", "--base", "HEAD")
    assert (code_, "would run its module" in err) == (2, True)


LARGE = """
[[models]]
source = "mypkg.model:Net"
name = "large"
input = "8x3x32x32"
batch = 8
"""


def entries_of(root: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads((root / "perfc.lock").read_text())["model"]
    return entries


def test_a_source_with_two_sets_of_inputs_keeps_its_baseline(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    before = entries_of(project)
    (project / "perfc.toml").write_text(TABLE + LARGE)
    code_, out, _ = said(capsys, "check")
    assert (code_, "2 same" in out, "mypkg.model:Net/large: new" in out) == (0, True, True)
    said(capsys, "check", "--write-baseline", "mypkg.model:Net/large")
    entries = entries_of(project)
    assert [e["path"] for e in entries] == [*["mypkg.model:Net"] * 2, "mypkg.model:Net/large"]
    assert entries[:2] == before
    assert "3 same" in said(capsys, "check", "mypkg.model:Net")[1]
    assert "1 same" in said(capsys, "check", "mypkg.model:Net/large")[1]
    (project / "mypkg/sizes.py").write_text("WIDTH = 48\n")
    code_, out, _ = said(capsys, "check", "mypkg/sizes.py", "-o", "result.json")
    assert code_ == 1
    assert "mypkg.model:Net/large" in said(capsys, "check", "--comment", "result.json")[1]
    assert said(capsys, "diff", "HEAD", "mypkg.model:Net/large", "--exit-code")[0] == 1


NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.layer(x)
"""


def test_two_sets_of_inputs_of_a_module_have_different_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(NETWORK)
    text = (TABLE + LARGE).replace("mypkg.model", "net").replace("[1, 8]", "8")
    (tmp_path / "perfc.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "check", "--write-baseline")[0] == 0
    small, large = entries_of(tmp_path)
    assert small["flop"] * 4 == large["flop"]
    assert "2 same" in said(capsys, "check")[1]


def test_a_source_is_checked_by_the_modules_it_is_part_of(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    (project / "mypkg/sizes.py").write_text("WIDTH = 48\n")
    code_, out, _ = said(capsys, "check", "mypkg/other.py")
    assert (code_, "all budgets met" in out) == (0, True)
    code_, out, _ = said(capsys, "check", "mypkg/layers.py", "mypkg/sizes.py")
    assert (code_, "2 models over budget" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "mypkg/absent.py"], "mypkg/absent.py: no such file"),
        (["check", "--write-baseline", "mypkg/other.py"], "mypkg/other.py: no budget is about it"),
        (["init", "mypkg.model:Net", "--force", "--kwargs", "[1"], "error: --kwargs is no JSON"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    said(capsys, "check", "--write-baseline")
    files = {name: (project / name).read_bytes() for name in ("perfc.lock", "perfc.toml")}
    code_, _, err = said(capsys, *arguments)
    assert (code_, message in err) == (2, True)
    assert files == {name: (project / name).read_bytes() for name in files}


@pytest.mark.parametrize(
    "arguments",
    [["HEAD"], ["mypkg.model:Net"], ["HEAD", "mypkg.model:Net"], ["HEAD:mypkg.model:Net"]],
)
def test_a_diff_has_the_module_of_a_revision(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (project / "mypkg/sizes.py").write_text("WIDTH = 48\n")
    code_, out, _ = said(capsys, "diff", *arguments, "--exit-code")
    assert (code_, "HEAD:mypkg.model:Net -> mypkg.model:Net" in out) == (1, True)
    git(project, "add", ".")
    git(project, "commit", "-qm", "two")
    assert said(capsys, "diff", *arguments, "--exit-code")[0] == 0
    before = "HEAD~1:mypkg.model:Net"
    assert said(capsys, "diff", before, "HEAD:mypkg.model:Net", "--exit-code")[0] == 1


@pytest.mark.parametrize("old", ['"mypkg.model:Net"', '"mypkg.model:Net"\nname = "small"'])
@pytest.mark.parametrize(
    "new",
    [
        '"mypkg.other:Net"',
        '"mypkg/other.py:Net"',
        '"mypkg.model:Net"\nname = "large"',
    ],
)
def test_an_equal_module_of_another_name_keeps_its_budgets(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    table = project / "perfc.toml"
    table.write_text(TABLE.replace('"mypkg.model:Net"', old))
    assert said(capsys, "check", "--write-baseline")[0] == 0
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    table.write_text(TABLE.replace('"mypkg.model:Net"', new))
    for files in ([], ["mypkg/sizes.py"]):
        code, out, err = said(capsys, "check", "--strict", *files)
        assert (code, err, "warn" in out) == (0, "", False), out
        assert "in place of mypkg.model:Net" in " ".join(out.split())
        assert "removed" not in out
    name = new.replace('"', "").replace("\nname = ", "/")
    assert said(capsys, "check", "--write-baseline", name)[0] == 0
    code, out, _ = said(capsys, "check")
    assert (code, "in place of" in out, "removed" in out) == (0, False, False), out


def test_a_checkout_leaves_the_index_of_a_hook_and_runs_no_program(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    index, mark = project / ".git/index.hook", project / "ran"
    program = tmp_path_factory.mktemp("bin") / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    (project / ".git/hooks").mkdir(exist_ok=True)
    (project / ".git/hooks/post-checkout").symlink_to(program)
    with monkeypatch.context() as m:
        m.setenv("GIT_INDEX_FILE", str(index))
        git(project, "config", "core.fsmonitor", str(program))
        for option in ((), ("--no-code",)):
            m.setattr(EXPORTS, {})
            code_, _, err = said(capsys, "check", "--base", "HEAD", *option)
            assert (code_, "would run its module" in err) == ((2, True) if option else (0, False))
    assert not index.exists()
    assert not mark.exists()
    git(project, "config", "--unset", "core.fsmonitor")
    assert git(project, "worktree", "list").count("\n") == 1


def test_a_revision_without_the_module_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "mypkg/late.py").write_text("")
    _, _, err = said(capsys, "diff", "HEAD", "mypkg.late:Net")
    assert "HEAD:mypkg.late:Net: HEAD does not have it" in err
    _, _, err = said(capsys, "diff", "HEAD", "timm:resnet18")
    assert "HEAD:timm:resnet18: its code is not in this repository" in err


def test_init_writes_a_named_module_and_proposes_others(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "perfc.toml").unlink()
    (project / "mypkg/net.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): ...\n"
    )
    assert "perfc init mypkg.net:Net --input" in said(capsys, "init", "--no-hook")[2]
    more = ["--input", "8x3x16x16", "--kwargs", '{"width": 4}', "--batch", "8"]
    assert said(capsys, "init", "mypkg.model:Net", "--no-hook", *more)[0] == 0
    (table,) = tomllib.loads((project / "perfc.toml").read_text())["models"]
    assert (table["source"], table["kwargs"]) == ("mypkg.model:Net", {"width": 4})
    assert table["input"] in ("8x3x16x16", ["8x3x16x16"])
    assert said(capsys, "check")[0] == 0
    (project / "a.onnx").write_bytes(models.convolutional(16).SerializeToString())
    assert said(capsys, "init", "--no-hook", "--force")[0] == 0
    assert '# source = "mypkg.net:Net"' in (project / "perfc.toml").read_text()


def test_entry_points_are_modules_that_no_other_creates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src/pkg").mkdir(parents=True)
    (tmp_path / "src/pkg/parts.py").write_text(
        "import torch.nn as nn\nclass Base(nn.Module):\n    pass\n"
        "class Part(Base):\n    def forward(self, x): ...\n"
        "class Config:\n    def forward(self, x): ...\n"
    )
    (tmp_path / "src/pkg/net.py").write_text(
        "from .parts import Base, Part\nclass Net(Base):\n    def __init__(self):\n"
        "        self.part = Part()\n    def forward(self, x): ...\n"
    )
    (tmp_path / "run.py").write_text(
        "import torch\nclass A(torch.nn.Module):\n    def forward(self, x): ...\n"
    )
    (tmp_path / "test_net.py").write_text((tmp_path / "run.py").read_text())
    (tmp_path / "a.onnx").write_bytes(models.convolutional(16).SerializeToString())
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "init", "--no-hook")[0] == 0
    text = (tmp_path / "perfc.toml").read_text()
    assert re.findall(r'source = "(.*)"', text) == ["pkg.net:Net", "run:A"]


@pytest.mark.parametrize(
    ("source", "place"), [("mypkg.model:Net", "mypkg/model.py"), ("mypkg:Net", "mypkg/__init__.py")]
)
def test_findings_are_placed_in_the_repository(
    project: Path, capsys: pytest.CaptureFixture[str], source: str, place: str
) -> None:
    table = TABLE.replace("mypkg.model:Net", source) + 'flop = { max = "1 flop" }\n'
    (project / "perfc.toml").write_text(table)
    out = said(capsys, "check", "--output-format", "github")[1]
    assert set(re.findall(r"file=([^,]*),line=(\d+)", out)) == {(place, "1")}
