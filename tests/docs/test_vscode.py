"""The task file for VS Code: its problem matchers read what perfc prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.review.pipelines import annotation
from perfc.review.pipelines.annotation import Annotation, AnnotationLevel

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "vscode.md").read_text(encoding="utf-8")
TASKS = json.loads(PAGE.partition("```json\n")[2].partition("```")[0])["tasks"]
PATTERNS: list[dict[str, Any]] = [m["pattern"] for m in TASKS[0]["problemMatcher"]]


def matched(pattern: dict[str, Any], text: str) -> list[dict[str, str]]:
    """Return what a problem matcher reads from lines, by field."""
    fields = {name: group for name, group in pattern.items() if isinstance(group, int)}
    lines = (re.search(pattern["regexp"], line) for line in text.splitlines())
    return [{name: m[group] for name, group in fields.items()} for m in lines if m]


def test_findings_of_lint_are_problems(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    model = "examples/models/resnet50.onnx.gz"
    assert cli.run([TASKS[0]["args"][0], model, "-t", "t4"]) == 1
    found = matched(PATTERNS[0], capsys.readouterr().out)
    assert [problem["file"] for problem in found] == [model] * len(found)
    assert {problem["code"] for problem in found} >= {"PF407"}
    assert all(problem["message"] for problem in found)


def test_problems_have_no_escapes_of_percent_signs() -> None:
    pattern = TASKS[1]["problemMatcher"][0]["pattern"]
    shown = Annotation(
        level=AnnotationLevel.NOTE,
        path="m.py",
        rule="time",
        title="perfc",
        context="",
        message="time +12 %, 100%",
        identity="m",
        line=3,
    )
    (problem,) = matched(pattern, annotation.command(shown))
    assert (problem["line"], problem["message"]) == ("3", "time +12 %, 100%")
    # GitHub decodes these, so that they are escaped
    for code in ("25", "0A", "0d", "3A", "2C"):
        assert annotation.in_property(f"5%{code}: 1") == f"5%25{code}%3A 1"


def test_wrong_lines_of_files_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "mine.toml"
    text = (ROOT / "perfc" / "targets" / "t4.toml").read_text(encoding="utf-8")
    path.write_text(text.replace("tdp_w", "tdp_kw"), encoding="utf-8")
    cli.run(["targets", "validate", str(path)])
    printed = capsys.readouterr()
    found = matched(PATTERNS[1], printed.out + printed.err)
    line = text.splitlines().index(next(t for t in text.splitlines() if t.startswith("tdp_w"))) + 1
    assert [(Path(p["file"]).name, p["line"]) for p in found] == [("mine.toml", str(line))]


def test_commands_of_the_tasks_exist() -> None:
    assert [task["args"][0] for task in TASKS] == ["lint", "check", "analyze"]
    assert all(task["command"] == "perfc" for task in TASKS)
