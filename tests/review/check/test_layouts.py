"""Where budgets are looked for, whichever folder a hook runs in, and what must not pass unseen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .projects import BUDGETS, put, said


@pytest.fixture
def monorepo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two projects, each with budgets and a baseline; the root has none."""
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=tmp_path)
    for name, more in (("vision", ""), ("speech", 'kernels = "1000"\n')):
        folder = tmp_path / "services" / name
        (folder / "models").mkdir(parents=True)
        (folder / "perfc.toml").write_text(BUDGETS + more)
        put(folder, "a", 16)
        monkeypatch.chdir(folder)
        assert perfc_writes()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def perfc_writes() -> bool:
    from perfc.cli import run

    return run(["check", "--write-baseline"]) == 0


VISION = "services/vision/models/a.onnx"
SPEECH = "services/speech/models/a.onnx"


def test_a_model_is_under_the_budgets_upwards_of_it(
    monorepo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = said(capsys, "check", VISION)
    assert (code, "1 same" in out) == (0, True)
    put(monorepo / "services" / "vision", "a", 64)
    outside = monorepo.parent / "elsewhere"
    outside.mkdir()
    for folder, name in (
        (monorepo, VISION),
        (monorepo, str(monorepo / VISION)),
        (monorepo, VISION.replace("/", "\\")),
        (monorepo / "services" / "vision", "models/a.onnx"),
        (monorepo / "services" / "vision" / "models", "a.onnx"),
        (monorepo / "services" / "speech", "../vision/models/a.onnx"),
        (outside, str(monorepo / VISION)),
    ):
        monkeypatch.chdir(folder)
        code, out, _ = said(capsys, "check", name)
        assert (code, "FAIL" in out, "new" in out) == (1, True, False), (folder, name)
    monkeypatch.chdir(monorepo / "services" / "vision")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


def test_budgets_in_one_run_each_hold_for_their_own_models(
    monorepo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(monorepo / "services" / "speech", "a", 64)
    for files in ((VISION, SPEECH), ()):
        code, out, _ = said(capsys, "check", *files, "--output-format", "json")
        tree = json.loads(out)
        outcomes = {r["model"]: (r["outcome"], r["standing"]) for r in tree["results"]}
        assert outcomes == {SPEECH: ("fail", "changed"), VISION: ("pass", "same")}
        assert code == 1
        assert tree["baseline"].count("perfc.lock") == 2
    code, out, _ = said(capsys, "check", VISION, SPEECH)
    assert f"intended? perfc check --write-baseline {SPEECH}" in " ".join(out.split())
    before = (monorepo / "services/vision/perfc.lock").read_bytes()
    code, out, _ = said(capsys, "check", "--write-baseline", SPEECH)
    assert (code, out.startswith("services/speech/perfc.lock: ")) == (0, True)
    assert said(capsys, "check", VISION, SPEECH)[0] == 0
    assert (monorepo / "services/vision/perfc.lock").read_bytes() == before


def test_the_nearest_budgets_that_are_about_a_model_count(
    monorepo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (monorepo / "perfc.toml").write_text(BUDGETS.replace("models/*.onnx", "**/*.onnx"))
    (monorepo / "services" / "vision" / "perfc.toml").write_text('[lint]\nignore = ["PF1"]\n')
    code, out, _ = said(capsys, "check", VISION, SPEECH, "--output-format", "json")
    standings = {r["model"]: r["standing"] for r in json.loads(out)["results"]}
    assert (code, standings) == (0, {SPEECH: "same", VISION: "new"})
    explicit = ("--config", "services/speech/perfc.toml")
    _, out, _ = said(capsys, "check", VISION, *explicit, "--output-format", "json")
    assert [r["standing"] for r in json.loads(out)["results"]] == ["skipped"]


def test_budgets_above_the_repository_are_another_project_s(
    monorepo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = monorepo / "services" / "vision"
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=inner)
    (inner / "perfc.toml").unlink()
    (monorepo / "services" / "perfc.toml").write_text(BUDGETS.replace("models/", "**/"))
    _, out, _ = said(capsys, "check", VISION)
    assert "no budgets given: built-in ones" in " ".join(out.split())


def test_a_budget_of_no_model_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "check", "--write-baseline")[0] == 0
    config = project / "perfc.toml"
    config.write_text(BUDGETS + BUDGETS.replace("models/*.onnx", "model/*.onnx"))
    for command in (("check",), ("check", "--write-baseline")):
        code, _, err = said(capsys, *command)
        assert code == 2
        assert err.startswith("error: perfc.toml:7: no model matches model/*.onnx (")
    assert said(capsys, "check", "models/a.onnx")[0] == 0, "named models are checked as ever"
    config.write_text("")
    assert said(capsys, "check", "models/a.onnx")[0] == 0, "built-in budgets"


def test_a_glob_with_backslashes_is_a_path(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "perfc.toml").write_text(BUDGETS.replace('"models/*.onnx"', "'models\\*.onnx'"))
    code, out, _ = said(capsys, "check")
    assert (code, "2 new" in out) == (0, True)


def test_a_model_without_a_baseline_is_said_and_strict_fails(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "check", "--strict")[0] == 3, "there is no baseline at all"
    assert said(capsys, "check", "--write-baseline")[0] == 0
    assert said(capsys, "check", "--strict")[0] == 0
    put(project, "c", 16)
    for files in ((), ("models/c.onnx",)):
        code, out, _ = said(capsys, "check", *files)
        line = "c.onnx: new, limits with + are not checked (perfc check --write-baseline models/c"
        assert (code, line in " ".join(out.split())) == (0, True)
        assert said(capsys, "check", *files, "--strict")[0] == 3
    (project / "perfc.toml").write_text(BUDGETS.replace('{ warn = "+0%", fail = "+20%" }', '"1 G"'))
    assert said(capsys, "check", "--strict")[0] == 0, "every limit is absolute and was checked"
