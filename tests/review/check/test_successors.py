"""A model that takes the place of another keeps its budgets, whatever its name is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .moved_models import BUDGET, committed, dense, git, network, put, whole
from .projects import said

PLACES = {
    "renamed": "models/b.onnx",
    "case": "models/A.onnx",
    "moved": "nets/deep/a.onnx",
    "extension": "models/a.onnx.gz",
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
    put(project, place, network(48, seed=1))
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
    put(project, "other/a.onnx", network(48, seed=1))
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
    put(project, "two/models/b.onnx", network(36))
    code, out, _ = said(capsys, "check", *files)
    assert (code, "FAIL" in out) == (1, True), out


def test_a_rename_is_compared_kernel_by_kernel_and_can_be_accepted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "mv", "models/a.onnx", "models/b.onnx")
    put(project, "models/b.onnx", network(48))
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


def test_a_rename_is_found_in_ci_where_the_parent_is_missing(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", network(48))
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    assert said(capsys, "check")[0] == 1
    assert said(capsys, "check", "--against", "HEAD~1")[0] == 1
    shallow = tmp_path_factory.mktemp("ci")
    git(shallow, "clone", "-q", "--depth=1", f"file://{project}", "copy")
    monkeypatch.chdir(shallow / "copy")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


def test_a_model_under_the_name_of_a_larger_one_keeps_its_own_budget(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "models/stays.onnx", network(40, depth=16))
    assert said(capsys, "check", "--write-baseline")[0] == 0
    git(project, "commit", "-qam", "two")
    (project / "models/a.onnx").rename(project / "models/stays.onnx")
    code, out, _ = said(capsys, "check")
    assert (code, "in place of models/a.onnx" in " ".join(out.split())) == (0, True)
    put(project, "models/stays.onnx", network(36))
    for files in ([], ["models/stays.onnx"]):
        code, out, _ = said(capsys, "check", *files)
        assert (code, "FAIL" in out) == (1, True), out


def test_another_model_and_a_removed_one_are_not_compared(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", dense(512))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check")
    assert (code, "1 same, 1 new, 1 removed" in out) == (0, True)
    line = "b.onnx: new, limits with + are not checked (perfc check --write-baseline models/b.onnx)"
    assert " ".join(out.split()).count(line) == 1


def test_a_file_split_in_two_is_checked_as_their_sum(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def halves(width: int) -> None:
        net, between = network(width), [8, width, 64, 64]
        nodes, weights = list(net.graph.node), list(net.graph.initializer)
        nodes[3].output[0] = "y"
        put(project, "models/trunk.onnx", whole(nodes[:4], weights[:2], [8, 3, 64, 64], between))
        nodes[4].input[0] = "x"
        put(project, "models/head.onnx", whole(nodes[4:], weights[2:], between, [8, 10]))

    (project / "models/a.onnx").unlink()
    halves(32)
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out, "removed" in out) == (0, False, False), out
    assert "in place of models/a.onnx" in " ".join(out.split())
    halves(40)
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)
    assert "flop" in out
    git(project, "checkout", "-q", "models/a.onnx")
    (project / "models/head.onnx").rename(project / "models/a.onnx")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True), "one part has the old name"


@pytest.mark.parametrize(
    "path",
    [
        "./models/a.onnx",
        "models//a.onnx",
        "models/../models/a.onnx",
        "models\\\\a.onnx",
        "Models/A.onnx",
        "zzz.onnx",
    ],
)
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


def test_a_baseline_of_an_older_perfc_is_paired_by_git(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (project / "perfc.lock").read_text().split("[model.products]\n")
    text = lines[0] + "".join(part.partition("\n\n")[2] for part in lines[1:])
    (project / "perfc.lock").write_text(text)
    assert "products" not in text
    git(project, "commit", "-qam", "two")
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", network(48, seed=1))
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)
