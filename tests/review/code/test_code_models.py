"""PyTorch modules under budgets: [[models]], the sources they are made of, and earlier revisions.

Exports are replaced by a network as wide as a source file says, so that no PyTorch is needed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perfc.errors import ModelError, ParseError
from perfc.frontend import load
from perfc.frontend.pytorch import named
from perfc.frontend.reading.module_name import NamedModule, require_code
from perfc.ir.graph import Module
from perfc.review.check import config, planning
from perfc.review.check.lock.baseline import Entry
from perfc.review.code import model as code
from perfc.review.code.imports import digest_of, sources_of
from perfc.review.code.worktree import checked_out, commit_of
from perfc.review.diff.figures import signed
from perfc.view.report.units import Unit

from ..check.projects import models, said

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "tests" / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
PAGE = (ROOT / "docs" / "vscode.md").read_text(encoding="utf-8")
TASKS = json.loads(PAGE.partition("```json\n")[2].partition("```")[0])["tasks"]
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

    def exported(module: NamedModule, _dims: Mapping[str, int]) -> Module:
        require_code(module)
        text = Path(module.folder, "mypkg/sizes.py").read_text()
        message = models.convolutional(int(text.split()[-1]))
        for v in (*message.graph.input, *message.graph.output):
            v.type.tensor_type.shape.dim[0].dim_param = "batch"
        made = load(message.SerializeToString())
        return replace(made, origin=replace(made.origin, path=module.name))

    monkeypatch.setattr(named, "named_module", exported)
    monkeypatch.setattr(code, "_EXPORTS", {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sources_are_reached_by_imports_even_within_functions(project: Path) -> None:
    module = NamedModule("mypkg.model:Net", folder=str(project))
    names = [p.relative_to(project).as_posix() for p in sources_of(module)]
    assert names[0] == "mypkg/model.py"
    assert {*names} == {f"mypkg/{n}.py" for n in ("__init__", "model", "layers", "sizes")}
    by_file = NamedModule("mypkg/model.py:Net", folder=str(project))
    assert {*sources_of(by_file)} == {*sources_of(module)}
    before = digest_of(module)
    (project / "mypkg/other.py").write_text("import torch\n")
    assert digest_of(module) == before
    (project / "perfc.toml").write_text("")
    assert digest_of(module) == before
    (project / "mypkg/sizes.json").write_text("{}")
    with_settings = digest_of(module)
    assert with_settings != before
    (project / "mypkg/sizes.py").write_text("def (\n")
    assert digest_of(module) != with_settings


def test_packages_below_src_are_sources(project: Path) -> None:
    (project / "mypkg").rename(project / "packages")
    (project / "src").mkdir()
    (project / "packages").rename(project / "src" / "mypkg")
    assert len(sources_of(NamedModule("mypkg.model:Net"))) == 4


def test_a_table_has_one_budget_per_combination_of_its_lists(project: Path) -> None:
    text = TABLE + 'dtype = ["f32", "f16"]\nkwargs = { width = 4 }\nflop = "+1%"\n'
    (project / "perfc.toml").write_text(text)
    budgets = config.load(project / "perfc.toml").budgets
    settings = [(b.dims["batch"], b.deployment.dtype) for b in budgets]
    assert settings == [(1, "f32"), (1, "f16"), (8, "f32"), (8, "f16")]
    assert {b.module for b in budgets} == {
        NamedModule("mypkg.model:Net", ("8x3x16x16",), '{"width": 4}', str(project))
    }
    assert {len(b.rules) for b in budgets} == {1}


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
def test_what_is_wrong_in_a_table_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "perfc.toml").write_text(text)
    with pytest.raises(ParseError, match=message):
        config.load(tmp_path / "perfc.toml")


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
    (row,) = rows[0]
    out = " ".join(said(capsys, "check")[1].split())
    assert f"mypkg/sizes.py:3: time {signed(row['time_s'], Unit.SECOND)}, memory " in out


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
    analyzed: list[Path | code.CodeModel] = []
    analysis = planning.analysed

    def counted(p: planning.PlannedCheck, target: str) -> tuple[Entry, bool]:
        analyzed.append(p.path)
        return analysis(p, target)

    monkeypatch.setattr(planning, "analysed", counted)
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
    monkeypatch.setattr(code, "_EXPORTS", {})
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
        '"mypkg.model:Wide"',
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


def test_a_checkout_is_removed_and_leaves_the_index_of_a_hook(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, index = commit_of(project, "HEAD"), project / ".git/index.hook"
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    places: list[Path] = []

    def fail() -> None:
        with checked_out(project / "mypkg", commit) as inside:
            assert sorted(os.listdir(inside)) == sorted(os.listdir(project / "mypkg"))
            places.append(inside)
            raise ModelError("as thrown")

    with pytest.raises(ModelError, match="as thrown"):
        fail()
    assert not places[0].exists()
    assert not index.exists()
    assert git(project, "worktree", "list").count("\n") == 1


def test_a_revision_without_the_module_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "mypkg/late.py").write_text("")
    _, _, err = said(capsys, "diff", "HEAD", "mypkg.late:Net")
    assert "HEAD:mypkg.late:Net: HEAD does not have it" in err
    _, _, err = said(capsys, "diff", "HEAD", "timm:resnet18")
    assert "HEAD:timm:resnet18: its code is not in this repository" in err


def test_entry_points_are_modules_that_no_other_creates(tmp_path: Path) -> None:
    from perfc.frontend.reading.folder import is_foreign
    from perfc.review.code.entry_points import EntryPoint, entry_points

    (tmp_path / "src" / "pkg").mkdir(parents=True)
    (tmp_path / "src/pkg/parts.py").write_text(
        "import torch.nn as nn\nclass Base(nn.Module):\n    pass\n"
        "class Part(Base):\n    def forward(self, x): ...\n"
        "class Config:\n    def forward(self, x): ...\n"
    )
    (tmp_path / "src/pkg/net.py").write_text(
        "from .parts import Base, Part\nclass Net(Base):\n    def __init__(self):\n"
        "        self.part = Part()\n    def forward(self, x): ...\n"
        "    def example_inputs(self): ...\n"
    )
    (tmp_path / "run.py").write_text(
        "import torch\nclass A(torch.nn.Module):\n    def forward(self, x): ...\n"
    )
    (tmp_path / "test_net.py").write_text((tmp_path / "run.py").read_text())
    found = entry_points(tmp_path, is_foreign)
    assert found == [EntryPoint("pkg.net:Net", True), EntryPoint("run:A", False)]


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
    (budget,) = config.load(project / "perfc.toml").budgets
    assert budget.module == NamedModule(
        "mypkg.model:Net", ("8x3x16x16",), '{"width": 4}', str(project)
    )
    assert said(capsys, "check")[0] == 0
    (project / "a.onnx").write_bytes(models.convolutional(16).SerializeToString())
    assert said(capsys, "init", "--no-hook", "--force")[0] == 0
    assert '# source = "mypkg.net:Net"' in (project / "perfc.toml").read_text()


def test_findings_are_placed_at_lines_of_the_repository(project: Path) -> None:
    from perfc.review.pipelines.annotation import place_of

    assert place_of("mypkg/model.py:2", "mypkg.model:Net") == ("mypkg/model.py", 2)
    assert place_of("timm/layers/a.py:2", "mypkg.model:Net") == ("mypkg/model.py", 1)
    assert place_of("", "mypkg:Net") == ("mypkg/__init__.py", 1)
