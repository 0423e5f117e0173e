"""A model that takes the place of another keeps its budgets, whatever its name is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .moved_models import BUDGET, committed, dense, git, network, put
from .projects import said

PLACES = {
    "renamed": "models/b.onnx",
    "case": "models/A.onnx",
    "moved": "nets/deep/a.onnx",
    "out of the budgets": "other/a.onnx",
}


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    return committed(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("is_hook", [False, True], ids=["all", "hook"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_budgets_hold_for_a_model_in_another_place(
    project: Path, capsys: pytest.CaptureFixture[str], place: str, is_hook: bool
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, place, network(depth=4))
    git(project, "add", "-A")
    # pre-commit leaves out what a commit deletes
    code, out, err = said(capsys, "check", *([place] if is_hook else []))
    assert (code, err) == (1, ""), out
    step = f"perfc check --write-baseline {place}"
    if place.startswith("other"):
        step = "no budget is about it: add it to perfc.toml"
    assert f"{place}: in place of models/a.onnx ({step})" in " ".join(out.split())
    assert "new" not in out.replace("new one", "")
    assert "removed" not in out
    assert "FAIL" in out


def test_no_cache_is_none_for_models_out_of_the_budgets_too(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "other/a.onnx", network(depth=4))
    git(project, "add", "-A")
    cached = sorted((project / ".perfc_cache").iterdir())
    assert said(capsys, "check", "--no-cache")[0] == 1
    assert sorted((project / ".perfc_cache").iterdir()) == cached


@pytest.mark.parametrize("is_hook", [False, True], ids=["all", "hook"])
def test_a_model_that_moves_to_another_project_keeps_its_budget(
    project: Path, capsys: pytest.CaptureFixture[str], is_hook: bool
) -> None:
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "perfc.toml").write_text(BUDGET)
        put(project, f"{name}/models/stays.onnx", dense(64))
    put(project, "one/models/a.onnx", network())
    (project / "perfc.toml").unlink()
    (project / "perfc.lock").unlink()
    assert said(capsys, "check", "--write-baseline")[0] == 0
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    git(project, "mv", "one/models/a.onnx", "two/models/b.onnx")
    files = ["two/models/b.onnx"] if is_hook else []
    code, out, _ = said(capsys, "check", "--strict", *files)
    assert (code, "in place of one/models/a.onnx" in " ".join(out.split())) == (0, True), out
    put(project, "two/models/b.onnx", network(depth=4))
    code, out, _ = said(capsys, "check", *files)
    assert (code, "FAIL" in out) == (1, True), out


def test_a_rename_is_compared_kernel_by_kernel_and_can_be_accepted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "mv", "models/a.onnx", "models/b.onnx")
    put(project, "models/b.onnx", network(depth=4))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check", "--output-format", "json")
    row = next(r for r in json.loads(out)["results"] if r["model"] == "models/b.onnx")
    assert (code, row["standing"], row["outcome"]) == (1, "changed", "fail")
    assert "conv" in row["why"]
    assert said(capsys, "check", "--write-baseline", "models/b.onnx")[0] == 0
    assert said(capsys, "check")[:2] == (0, said(capsys, "check")[1])
    text = (project / "perfc.lock").read_text()
    assert ("models/a.onnx" in text, "models/b.onnx" in text) == (False, True)
    assert "removed" not in said(capsys, "check")[1]


def test_a_rename_is_found_in_commits_after_the_baseline(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", network(depth=4))
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    assert said(capsys, "check")[0] == 1
    assert said(capsys, "check", "--against", "HEAD~1")[0] == 1
    shallow = tmp_path_factory.mktemp("ci")
    git(shallow, "clone", "-q", "--depth=1", f"file://{project}", "copy")
    monkeypatch.chdir(shallow / "copy")
    # without the old content only an equal one is known again
    assert "gone: models/a.onnx; new: models/b.onnx; not compared" in said(capsys, "check")[1]
    put(Path.cwd(), "models/b.onnx", network())
    code, out, _ = said(capsys, "check", "--strict")
    assert (code, "in place of models/a.onnx" in " ".join(out.split())) == (0, True)


def test_models_of_other_names_are_gone_and_new(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    for name in "bc":
        put(project, f"models/{name}.onnx", network(48, seed=1))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check")
    assert (code, "1 same, 2 new, 1 removed" in out) == (0, True)
    line = "gone: models/a.onnx; new: models/b.onnx, models/c.onnx; not compared"
    assert " ".join(out.split()).count(line) == 1
    assert "limits with +" not in out
    assert said(capsys, "check", "models/b.onnx", "--strict")[0] == 3
    # of equal content the second has its place, although git takes the first for it
    put(project, "models/c.onnx", network())
    put(project, "models/b.onnx", network(depth=4))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check")
    assert (code, "c.onnx: in place of models/a.onnx" in " ".join(out.split())) == (0, True)
    assert "b.onnx: new, limits with + are not checked" in " ".join(out.split())


def test_models_that_change_places_are_compared_by_content(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "models/stays.onnx", network())
    put(project, "models/a.onnx", dense(64))
    code, out, _ = said(capsys, "check", "--strict")
    assert (code, "2 same" in out) == (0, True)
    assert "models/stays.onnx: in place of models/a.onnx" in " ".join(out.split())


@pytest.mark.parametrize("path", ["./models/a.onnx", "models//a.onnx", "models/../models/a.onnx"])
@pytest.mark.parametrize("is_hook", [False, True])
def test_a_hand_edited_path_of_the_baseline_frees_no_model(
    project: Path, capsys: pytest.CaptureFixture[str], path: str, is_hook: bool
) -> None:
    text = (project / "perfc.lock").read_text()
    (project / "perfc.lock").write_text(text.replace("models/a.onnx", path))
    files = ["models/a.onnx"] if is_hook else []
    assert said(capsys, "check", *files)[0] == 0
    put(project, "models/a.onnx", network(48))
    code, out, _ = said(capsys, "check", *files)
    assert (code, "FAIL" in out) == (1, True)


@pytest.mark.parametrize("path", ["/etc/a.onnx", "../a.onnx", "models/../../a.onnx"])
def test_a_path_out_of_the_project_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    text = (project / "perfc.lock").read_text()
    (project / "perfc.lock").write_text(text.replace("models/a.onnx", path))
    code, _, err = said(capsys, "check")
    assert (code, "leads out of the project" in err, err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    "line",
    ['target = "h100"', 'target = "a100"\nruntime = "tensorrt"', 'target = "a100"\ndtype = "f16"'],
)
def test_a_changed_setting_is_compared_on_the_new_one(
    project: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    text = BUDGET.replace('target = "a100"', line)
    (project / "perfc.toml").write_text(text)
    assert said(capsys, "check")[0] == 0
    put(project, "models/a.onnx", network(48))
    git(project, "commit", "-qam", "two")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)
    assert "another setting than in the baseline" in " ".join(out.split())
